export type {
  Pieces,
  Scripted,
  ScriptedContent,
  ScriptedFault,
  ScriptedResponse,
} from './script.ts';
export {
  type ScriptedCall,
  ScriptedError,
  type ScriptedOptions,
  type ScriptedProvider,
  scriptedProvider,
} from './scripted-provider.ts';
