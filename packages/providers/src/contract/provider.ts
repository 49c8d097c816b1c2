import type {
  Attempt,
  Delta,
  Ids,
  Item,
  ItemId,
  JsonObject,
  JsonValue,
  ResponseDetails,
  Stop,
  TraceContext,
  Usage,
} from '@millrace/core';
import type { ModelInfo } from './model-info.ts';
import type { ModelRequest } from './model-request.ts';
import type { ProviderError } from './provider-error.ts';

/** A model behind a provider. It turns a request into a stream of deltas. */
export interface Provider {
  /**
   * The provider's id, for example `anthropic`. Together with `model` it identifies the owner of
   * `providerState`.
   */
  readonly id: string;
  /** The model's name, as the API expects it. */
  readonly model: string;
  /** What is known about the model: limits, abilities and prices. Missing if nothing is known. */
  readonly info?: ModelInfo | undefined;
  /**
   * Makes one attempt at the request. The stream does not throw for failures at run time: an error,
   * a timeout or an abort is reported in its last step. It sends nothing before the caller requests
   * the first step.
   */
  readonly stream: Stream;
  /**
   * Streams one attempt and returns the complete response. Use it if you do not need the deltas.
   */
  complete(request: ModelRequest, options?: CompleteOptions): Promise<Completion>;
  /**
   * Returns the HTTP request that would be sent, without secrets, for display. It sends nothing. It
   * throws if the provider cannot express the request. It is missing if another package makes the
   * request.
   */
  describe?(request: ModelRequest): DescribedRequest;
  /**
   * Counts the input tokens of a request with the provider's own endpoint, which costs nothing.
   * Resolves with undefined if the endpoint gives no answer. It is missing if there is no endpoint;
   * `estimateTokens` estimates then.
   */
  countTokens?(request: ModelRequest, options?: QueryOptions): Promise<number | undefined>;
  /**
   * Reads the context window of the model as the server runs it, in tokens. Resolves with undefined if
   * the server does not tell. It is missing if the server cannot tell.
   */
  contextTokens?(options?: QueryOptions): Promise<number | undefined>;
}

/** Options of a small request beside the stream. */
export interface QueryOptions {
  /** Aborts the request. Default: nothing aborts it. */
  readonly signal?: AbortSignal | undefined;
}

/** Streams one attempt at a request. */
export type Stream = (request: ModelRequest, context: StreamContext) => AsyncIterable<StreamStep>;

/** What a stream needs in addition to the request. */
export interface StreamContext {
  /** The assistant item that the caller started, and the attempt that it belongs to. */
  readonly item: StreamItem;
  /** Creates new ids. */
  readonly ids: Ids;
  /**
   * The session that the request belongs to. Uploaded files are kept until their sessions are
   * released. Default: none.
   */
  readonly session?: string | undefined;
  /** Aborts the stream. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The trace that the request belongs to. Providers that use HTTP send it as W3C trace headers.
   */
  readonly trace?: TraceContext | undefined;
}

/** The item that a stream writes, and its attempt. */
export interface StreamItem extends Attempt {
  readonly id: ItemId;
}

/** The deltas of one read from the network. Only the last step has an end. */
export interface StreamStep {
  readonly deltas: readonly Delta[];
  /**
   * Set on the last step. Every part is closed by then. If the response was cut off, text and
   * reasoning are committed as partial and open tool calls are retracted.
   */
  readonly end?: ResponseEnd | undefined;
}

/** How a response ended. */
export interface ResponseEnd {
  /** `error` or `aborted` if `error` is set. Otherwise the provider's stop reason. */
  readonly stop: Stop;
  /**
   * The token usage. It is an estimate, and marked as `estimated`, if the provider did not report
   * it.
   */
  readonly usage: Usage;
  /** Set if the response failed or was aborted. */
  readonly error?: ProviderError | undefined;
  /** The model that answered, if the provider names it. */
  readonly model?: string | undefined;
  /** The provider's id of the response. Its support asks for it. */
  readonly responseId?: string | undefined;
  /** What else the provider reported: tier, safety ratings, timings. Absent if nothing. */
  readonly details?: ResponseDetails | undefined;
  /**
   * What the provider's API could not express, and what was sent instead. For example, a schema that
   * the provider cannot enforce.
   */
  readonly warnings?: readonly string[] | undefined;
}

/** Options of `complete`. */
export interface CompleteOptions {
  /** Aborts the request. Default: nothing aborts it. */
  readonly signal?: AbortSignal | undefined;
  /** Creates new ids. Default: random ids. */
  readonly ids?: Ids | undefined;
  /** The session that the request belongs to. Default: none. */
  readonly session?: string | undefined;
  /** The trace that the request belongs to. Default: none. */
  readonly trace?: TraceContext | undefined;
  /**
   * Called after each step is applied, and awaited. If it throws or rejects, `complete` does too
   * and the stream is closed. Default: nothing is called.
   */
  readonly onStep?:
    | ((step: StreamStep) => void)
    | ((step: StreamStep) => Promise<void>)
    | undefined;
}

/** A complete response. After an error or an abort it contains everything that arrived before. */
export interface Completion extends ResponseEnd {
  /** The assistant item, with all its parts. */
  readonly item: Item;
  /** All text parts of the item, joined. */
  readonly text: string;
  /** The value of the structured part, if the request asked for output with a schema. */
  readonly value?: JsonValue | undefined;
}

/** An HTTP request for display. It has no headers, because they contain the API key. */
export interface DescribedRequest {
  readonly method: 'POST';
  /** The URL without its query, because a query can contain a key. Undefined if nothing is sent. */
  readonly url?: string | undefined;
  /** The JSON body. */
  readonly body: JsonObject;
}
