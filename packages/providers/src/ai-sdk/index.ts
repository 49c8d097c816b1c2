export {
  type AiSdkSpeechModel,
  type AiSdkTranscriptionModel,
  speechFromAiSdk,
  transcriptionFromAiSdk,
} from './media/audio.ts';
export type { AiSdkMediaOptions } from './media/call-model.ts';
export {
  type AiSdkEmbeddingModel,
  type AiSdkEmbeddingOptions,
  embeddingFromAiSdk,
} from './media/embedding.ts';
export { type AiSdkImageModel, imageFromAiSdk } from './media/image.ts';
export type { AiSdkModel, ProviderTool } from './model.ts';
export type { AiSdkOptions } from './options.ts';
export { fromAiSdk } from './provider.ts';
