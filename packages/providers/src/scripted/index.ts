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
  type ReceivedRequest,
  type ScriptedOptions,
  type ScriptedProvider,
  ScriptedProviderError,
  scriptedProvider,
} from './scripted-provider.ts';
