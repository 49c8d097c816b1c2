export type {
  EmbeddingModel,
  EmbeddingRequest,
  Embeddings,
  EmbedOptions,
  MediaCallOptions,
  MediaModel,
  MediaRetries,
} from '../contract/media.ts';
export { embed } from './embed.ts';
export { type GeminiEmbeddingOptions, geminiEmbedding } from './gemini-embedding.ts';
export type { MediaApiOptions, MediaTransportOptions } from './media-client.ts';
export {
  type EmbeddingPreset,
  type OpenAiEmbeddingOptions,
  openaiEmbedding,
} from './openai-embedding.ts';
