export {
  type ScriptEntry,
  type ScriptedAnswer,
  type ScriptedContent,
  type ScriptedFault,
  type ScriptedPart,
  type ScriptedPieces,
  type ScriptedResponse,
  type ScriptedToolCall,
  toolCall,
} from './script.ts';
export {
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedProvider,
  ScriptedProviderError,
  scriptedProvider,
} from './scripted-provider.ts';
