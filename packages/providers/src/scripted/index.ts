export type {
  ScriptEntry,
  ScriptedContent,
  ScriptedFault,
  ScriptedPieces,
  ScriptedResponse,
} from './script.ts';
export {
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedProvider,
  ScriptedProviderError,
  scriptedProvider,
} from './scripted-provider.ts';
