import type { JsonObject } from '@millrace/core';
import type { ApiOptions } from '../wire/api-options.ts';
import type { Endpoint } from '../wire/endpoint.ts';

export interface ResponsesOptions extends ApiOptions {
  /** Whose server it is: OpenAI's unless told, and `compatible` where only a base URL is given. */
  readonly preset?: ResponsesPreset | undefined;
  /** Where the server differs from its preset. */
  readonly dialect?: Partial<ResponsesDialect> | undefined;
  /** Has the provider keep the response. Not unless told: then all it needs comes back with the next request. */
  readonly store?: boolean | undefined;
  /** How much is shown of the reasoning; `auto` where reasoning is asked for. */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed' | 'none' | undefined;
  /** Asks for reasoning in a form that can go back. Yes, unless it is stored or the model has none. */
  readonly encryptedReasoning?: boolean | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  /**
   * Tools in the provider's own words: hosted ones, and custom ones, which take plain text. One with
   * the name of a request's tool takes its place.
   */
  readonly extraTools?: readonly JsonObject[] | undefined;
}

export type ResponsesPreset =
  | 'compatible'
  | 'openai'
  | 'azure'
  | 'openrouter'
  | 'xai'
  | 'lm-studio';

/** What differs from one server of this wire to the next. */
export interface ResponsesDialect extends Endpoint {
  /**
   * Reasoning that is not encrypted goes back too, before each call of several: what servers of open
   * models want, and OpenAI refuses.
   */
  readonly plainReasoning: boolean;
  /** Messages of the assistant must have ids. OpenAI wants none that it did not make itself. */
  readonly needsMessageIds: boolean;
  /** Models that can be asked to keep what they cache for long. */
  readonly longCacheModels: readonly string[];
}
