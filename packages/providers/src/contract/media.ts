import type { JsonObject, Usage } from '@millrace/core';

/** Options of each call of a model that does not chat. */
export interface MediaCallOptions {
  /** Aborts the call. The promise then rejects with the kind `aborted`. Default: nothing aborts it. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Fields of the request in the format of the API, by provider: `{ openai: { user: 'anna' } }`. They
   * cannot replace the model or the input. Default: none.
   */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

/** The names of a model that does not chat. */
export interface MediaModel {
  /** The provider's id, for example `openai`. Errors have it as `provider`. */
  readonly provider: string;
  /** The model's name, as the API expects it. */
  readonly model: string;
}

/** How often and how fast a failed request is sent again. The defaults are those of an agent. */
export interface MediaRetries {
  /** Maximum number of attempts, the first one included. 1 turns retries off. Default: 4. */
  readonly maxAttempts: number;
  /** The delay before the second attempt. It doubles with each attempt. Default: 1000 (1 s). */
  readonly baseDelayMs: number;
  /**
   * Maximum delay. If the provider asks for a longer one, the call fails at once. Default: 60,000
   * (1 min).
   */
  readonly maxDelayMs: number;
}

/** A model that turns texts into vectors. Use it with `embed`. */
export interface EmbeddingModel extends MediaModel {
  /** Maximum number of texts in one request. */
  readonly maxTexts: number;
  /** Maximum size of the texts of one request, in bytes of UTF-8. A longer text is sent alone. */
  readonly maxBytes: number;
  /** Maximum number of requests that `embed` sends at the same time. */
  readonly maxParallel: number;
  /** Sends one request. Throws a `ProviderError`. */
  embed(request: EmbeddingRequest): Promise<Embeddings>;
}

/** Options of `embed`. */
export interface EmbedOptions extends MediaCallOptions {
  /** The length of the vectors, if the model can shorten them. Default: that of the model. */
  readonly dimensions?: number | undefined;
}

/** One request to an embedding model. */
export interface EmbeddingRequest extends EmbedOptions {
  /** Between 1 and `maxTexts` texts. None is empty. */
  readonly texts: readonly string[];
}

/** The vectors of some texts. */
export interface Embeddings {
  /** One vector for each text, in the same order. All have the same length. */
  readonly vectors: readonly (readonly number[])[];
  /** `input` is the number of tokens. `costs` is empty if the price is unknown. */
  readonly usage: Usage;
}

/** A model that makes pictures. Use it with `generateImage`. */
export interface ImageModel extends MediaModel {
  /** Maximum number of pictures of one request. */
  readonly maxImages: number;
  /** Sends one request. Throws a `ProviderError`. */
  generate(request: ImageRequest): Promise<GeneratedImages>;
}

/** Options of `generateImage`. A model refuses an option that its API does not have. */
export interface ImageOptions extends MediaCallOptions {
  /** How many pictures to make, from 1 to 100. Default: 1. */
  readonly count?: number | undefined;
  /** Width and height in pixels: `1024x1024`. Default: that of the model. */
  readonly size?: `${number}x${number}` | undefined;
  /** For models that take a ratio: `16:9`. Default: that of the model. */
  readonly aspectRatio?: `${number}:${number}` | undefined;
  /** For models that can repeat a picture. Default: none. */
  readonly seed?: number | undefined;
}

/** One request to an image model. */
export interface ImageRequest extends ImageOptions {
  readonly prompt: string;
  /** From 1 to `maxImages`. */
  readonly count: number;
}

/** Pictures that a model made. */
export interface GeneratedImages {
  readonly images: readonly MediaContent[];
  /** `estimated` is true if the API reports no tokens. */
  readonly usage: Usage;
}

/** A picture or a recording. */
export interface MediaContent {
  readonly bytes: Uint8Array;
  /** For example `image/png` or `audio/mpeg`. */
  readonly mimeType: string;
}

/** A model that reads a text aloud. Use it with `speak`. */
export interface SpeechModel extends MediaModel {
  /** Sends one request. Throws a `ProviderError`. */
  speak(request: SpeechRequest): Promise<Speech>;
}

/** Options of `speak`. A model refuses an option that its API does not have. */
export interface SpeechOptions extends MediaCallOptions {
  /** The voice, by its name at the provider. Default: `alloy` for OpenAI's API. */
  readonly voice?: string | undefined;
  /** The format of the recording: `mp3`, `wav`, `opus`. Default: that of the provider. */
  readonly format?: string | undefined;
  /** How to speak, in words: "calm and slow". Default: none. */
  readonly instructions?: string | undefined;
  /** 1 is the normal speed. Default: 1. */
  readonly speed?: number | undefined;
}

/** One request to a speech model. */
export interface SpeechRequest extends SpeechOptions {
  readonly text: string;
}

/** A text that was read aloud. */
export interface Speech {
  readonly audio: MediaContent;
  /** `estimated` is true if the API reports no tokens. */
  readonly usage: Usage;
}

/** A model that writes down what is said in a recording. Use it with `transcribe`. */
export interface TranscriptionModel extends MediaModel {
  /** Sends one request. Throws a `ProviderError`. */
  transcribe(request: TranscriptionRequest): Promise<Transcription>;
}

/** Options of `transcribe`. A model refuses an option that its API does not have. */
export interface TranscriptionOptions extends MediaCallOptions {
  /** The language of the recording, as ISO 639-1: `de`. Default: the model finds it out. */
  readonly language?: string | undefined;
  /** Names and terms that occur in the recording. Default: none. */
  readonly prompt?: string | undefined;
  /** Asks for the times of words or of segments. Default: none. */
  readonly timestamps?: 'word' | 'segment' | undefined;
}

/** One request to a transcription model. */
export interface TranscriptionRequest extends TranscriptionOptions {
  readonly audio: MediaContent;
}

/** What is said in a recording. */
export interface Transcription {
  readonly text: string;
  /** The parts with their times. Empty without times. */
  readonly segments: readonly TimedText[];
  /** The words with their times. Empty without times. */
  readonly words: readonly TimedText[];
  /** As the provider names it. */
  readonly language?: string | undefined;
  readonly durationSeconds?: number | undefined;
  /** `billed.seconds` if the API bills by time. `estimated` is true if it reports nothing. */
  readonly usage: Usage;
}

/** A text, and when it is said, in seconds from the start. */
export interface TimedText {
  readonly text: string;
  readonly startSecond: number;
  readonly endSecond: number;
}
