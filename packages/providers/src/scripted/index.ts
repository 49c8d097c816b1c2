export type { Pieces } from './pieces.ts';
export type { Scripted, ScriptedContent, ScriptedFault, ScriptedResponse } from './script.ts';
export { ScriptedError } from './scripted-error.ts';
export {
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedProvider,
  scriptedProvider,
} from './scripted-provider.ts';
