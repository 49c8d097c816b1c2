export type {
  EmbeddingModel,
  EmbeddingRequest,
  Embeddings,
  EmbedOptions,
  GeneratedImages,
  ImageModel,
  ImageOptions,
  ImageRequest,
  MediaCallOptions,
  MediaContent,
  MediaModel,
  MediaRetries,
  Speech,
  SpeechModel,
  SpeechOptions,
  SpeechRequest,
  TimedText,
  Transcription,
  TranscriptionModel,
  TranscriptionOptions,
  TranscriptionRequest,
} from '../contract/media.ts';
export { embed } from './embed.ts';
export { type GeminiEmbeddingOptions, geminiEmbedding } from './gemini-embedding.ts';
export {
  generateImage,
  type ImagePreset,
  type OpenaiImageOptions,
  openaiImage,
} from './image.ts';
export type { MediaApiOptions, MediaTransportOptions } from './media-client.ts';
export {
  type EmbeddingPreset,
  type OpenaiEmbeddingOptions,
  openaiEmbedding,
} from './openai-embedding.ts';
export {
  type OpenaiSpeechOptions,
  openaiSpeech,
  type SpeechPreset,
  speak,
} from './speech.ts';
export {
  type OpenaiTranscriptionOptions,
  openaiTranscription,
  type TranscriptionPreset,
  transcribe,
} from './transcription.ts';
