export {
  type ScriptEntry,
  type ScriptedAnswer,
  type ScriptedContent,
  type ScriptedFault,
  type ScriptedPieces,
  type ScriptedResponse,
  toolCall,
} from './script.ts';
export {
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedProvider,
  ScriptedProviderError,
  scriptedProvider,
} from './scripted-provider.ts';
