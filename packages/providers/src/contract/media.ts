import type { JsonObject, Usage } from '@millrace/core';

/** Options of each call of a model that does not chat. */
export interface MediaCallOptions {
  /** Aborts the call. The promise then rejects with the kind `aborted`. */
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
