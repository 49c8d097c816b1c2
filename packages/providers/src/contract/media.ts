import type { JsonObject, Usage } from '@millrace/core';

/** Options for each call to a model that does not chat. */
export interface MediaCallOptions {
  /**
   * Aborts the call. The promise then rejects with an error of the kind `aborted`. Default: none.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Fields of the request in the format of the API, by provider: `{ openai: { user: 'anna' } }`. They
   * cannot replace the model or the input. Default: none.
   */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

/** The provider and name of a model that does not chat. */
export interface MediaModel {
  /** The provider's id, for example `openai`. Errors contain it as `provider`. */
  readonly provider: string;
  /** The model's name in the API. */
  readonly model: string;
}

/** Settings for repeating a failed request. The defaults are the same as for an agent. */
export interface MediaRetries {
  /** Maximum number of attempts, including the first attempt. 1 turns retries off. Default: 4. */
  readonly maxAttempts: number;
  /**
   * The delay before the second attempt, in milliseconds. The delay doubles with each further attempt.
   * Default: 1000 (1 s).
   */
  readonly baseDelayMs: number;
  /**
   * Maximum delay in milliseconds. If the provider asks for a longer delay, the call fails immediately.
   * Default: 60,000 (1 min).
   */
  readonly maxDelayMs: number;
}

/** A model that turns texts into vectors. Use it with `embed`. */
export interface EmbeddingModel extends MediaModel {
  /** Maximum number of texts in one request. */
  readonly maxTexts: number;
  /**
   * Maximum size of all texts in one request, in bytes of UTF-8. A text that is longer than this is sent in a
   * separate request.
   */
  readonly maxBytes: number;
  /** Maximum number of requests that `embed` sends at the same time. */
  readonly maxParallel: number;
  /** Sends one request. Throws a `ProviderError`. */
  embed(request: EmbeddingRequest): Promise<Embeddings>;
}

/** Options of `embed`. */
export interface EmbedOptions extends MediaCallOptions {
  /**
   * The length of the vectors, if the model can shorten them. Default: the length of the model's
   * vectors.
   */
  readonly dimensions?: number | undefined;
}

/** One request to an embedding model. */
export interface EmbeddingRequest extends EmbedOptions {
  /** The texts. Their number is between 1 and `maxTexts`, and no text is empty. */
  readonly texts: readonly string[];
}

/** The vectors for a list of texts. */
export interface Embeddings {
  /** One vector for each text, in the same order. All vectors have the same length. */
  readonly vectors: readonly (readonly number[])[];
  /** The usage. `input` is the number of tokens. `costs` is empty if the price is unknown. */
  readonly usage: Usage;
}

/** A model that creates images. Use it with `generateImage`. */
export interface ImageModel extends MediaModel {
  /** Maximum number of images in one request. */
  readonly maxImages: number;
  /** Sends one request. Throws a `ProviderError`. */
  generate(request: ImageRequest): Promise<GeneratedImages>;
}

/** Options of `generateImage`. A model rejects an option that its API does not support. */
export interface ImageOptions extends MediaCallOptions {
  /** The number of images to create, from 1 to 100. Default: 1. */
  readonly count?: number | undefined;
  /** Width and height in pixels, for example `1024x1024`. Default: the model chooses. */
  readonly size?: `${number}x${number}` | undefined;
  /**
   * The aspect ratio, for models that accept one, for example `16:9`. Default: the model
   * chooses.
   */
  readonly aspectRatio?: `${number}:${number}` | undefined;
  /** The seed, for models that can create the same image again from the same seed. Default: none. */
  readonly seed?: number | undefined;
}

/** One request to an image model. */
export interface ImageRequest extends ImageOptions {
  readonly prompt: string;
  /** The number of images to create, from 1 to `maxImages`. */
  readonly count: number;
}

/** Images that a model created. */
export interface GeneratedImages {
  readonly images: readonly MediaContent[];
  /** The usage. `estimated` is true if the API does not report tokens. */
  readonly usage: Usage;
}

/** An image or a recording. */
export interface MediaContent {
  readonly bytes: Uint8Array;
  /** The media type, for example `image/png` or `audio/mpeg`. */
  readonly mimeType: string;
}

/** A model that converts a text to speech. Use it with `speak`. */
export interface SpeechModel extends MediaModel {
  /** Sends one request. Throws a `ProviderError`. */
  speak(request: SpeechRequest): Promise<Speech>;
}

/** Options of `speak`. A model rejects an option that its API does not support. */
export interface SpeechOptions extends MediaCallOptions {
  /** The name of the voice, as the provider defines it. Default: `alloy` for OpenAI's API. */
  readonly voice?: string | undefined;
  /**
   * The format of the recording, for example `mp3`, `wav` or `opus`. Default: the format of the
   * provider.
   */
  readonly format?: string | undefined;
  /** A description of how to speak, for example "calm and slow". Default: none. */
  readonly instructions?: string | undefined;
  /** The speed as a factor. 1 is the normal speed. Default: 1. */
  readonly speed?: number | undefined;
}

/** One request to a speech model. */
export interface SpeechRequest extends SpeechOptions {
  readonly text: string;
}

/** The recording that a speech model created from a text. */
export interface Speech {
  readonly audio: MediaContent;
  /** The usage. `estimated` is true if the API does not report tokens. */
  readonly usage: Usage;
}

/** A model that converts the words of a recording to text. Use it with `transcribe`. */
export interface TranscriptionModel extends MediaModel {
  /** Sends one request. Throws a `ProviderError`. */
  transcribe(request: TranscriptionRequest): Promise<Transcription>;
}

/** Options of `transcribe`. A model rejects an option that its API does not support. */
export interface TranscriptionOptions extends MediaCallOptions {
  /**
   * The language of the recording as an ISO 639-1 code, for example `de`. Default: the model
   * detects it.
   */
  readonly language?: string | undefined;
  /** Names and terms that occur in the recording. Default: none. */
  readonly prompt?: string | undefined;
  /** Requests the times of words or of segments in the answer. Default: no times. */
  readonly timestamps?: 'word' | 'segment' | undefined;
}

/** One request to a transcription model. */
export interface TranscriptionRequest extends TranscriptionOptions {
  readonly audio: MediaContent;
}

/** The text of a recording. */
export interface Transcription {
  readonly text: string;
  /** The segments with their times. Empty if the model returned no segments. */
  readonly segments: readonly TimedText[];
  /** The words with their times. Empty if the model returned no words. */
  readonly words: readonly TimedText[];
  /** The language, as the provider writes it. */
  readonly language?: string | undefined;
  readonly durationSeconds?: number | undefined;
  /**
   * The usage. `billed.seconds` is set if the API bills by time. `estimated` is true if the API does not
   * report usage.
   */
  readonly usage: Usage;
}

/** A text with its start and end, in seconds from the start of the recording. */
export interface TimedText {
  readonly text: string;
  readonly startSecond: number;
  readonly endSecond: number;
}
