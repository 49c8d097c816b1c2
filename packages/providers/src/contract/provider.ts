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

/** A model of a provider. It turns a request into a stream of deltas. */
export interface Provider {
  /**
   * The provider's id, for example `anthropic`. Together with `model` it identifies the owner of
   * `providerState`.
   */
  readonly id: string;
  /** The model's name in the API. */
  readonly model: string;
  /** The limits, abilities and prices of the model. Undefined if they are unknown. */
  readonly info?: ModelInfo | undefined;
  /**
   * Makes one attempt at the request. The stream does not throw for failures at run time. Its last
   * step reports an error, a timeout or an abort. It sends nothing before the caller asks for the
   * first step.
   */
  readonly stream: Stream;
  /**
   * Streams one attempt and returns the complete response. Use it if you do not need the deltas.
   */
  complete(request: ModelRequest, options?: CompleteOptions): Promise<Completion>;
  /**
   * Returns the HTTP request that would be sent, without secrets, for display. It sends nothing. It
   * throws if the provider cannot express the request. Undefined if another package creates the
   * requests.
   */
  describe?(request: ModelRequest): DescribedRequest;
  /**
   * Counts the input tokens of a request with the provider's own endpoint, which costs nothing.
   * Resolves with undefined if the endpoint gives no answer. The method is undefined if there is no
   * such endpoint. Use `estimateTokens` then.
   */
  countTokens?(request: ModelRequest, options?: QueryOptions): Promise<number | undefined>;
  /**
   * Reads the context window of the model on its server, in tokens. Resolves with undefined if the
   * server does not report it. The method is undefined if such a server never reports it.
   */
  contextTokens?(options?: QueryOptions): Promise<number | undefined>;
}

/** Options of a small request other than a stream, such as a count of tokens. */
export interface QueryOptions {
  /** Aborts the request. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** Streams one attempt at a request. */
export type Stream = (request: ModelRequest, context: StreamContext) => AsyncIterable<StreamStep>;

/** The data that a stream needs in addition to the request. */
export interface StreamContext {
  /** The assistant item that the caller started, and the attempt that it belongs to. */
  readonly item: StreamItem;
  /** The source of new ids. */
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

/** The deltas of one read from the network. Only the last step has an `end`. */
export interface StreamStep {
  readonly deltas: readonly Delta[];
  /**
   * The end of the response. Only the last step has it. No part is open then. If the response was
   * cut off, text and reasoning were committed as partial, and open tool calls were retracted.
   */
  readonly end?: ResponseEnd | undefined;
}

/** How a response ended. */
export interface ResponseEnd {
  /**
   * How the response stopped: `error` or `aborted` if `error` is set, and otherwise the provider's
   * stop reason.
   */
  readonly stop: Stop;
  /**
   * The token usage. If the provider did not report it, the usage is an estimate and `estimated` is
   * true.
   */
  readonly usage: Usage;
  /** The error, if the response failed or was aborted. */
  readonly error?: ProviderError | undefined;
  /** The model that answered, if the provider reported it. */
  readonly model?: string | undefined;
  /** The provider's id of the response. The provider's support needs it to find the response. */
  readonly responseId?: string | undefined;
  /**
   * Other data that the provider reported, such as tier, safety ratings and timings. Absent if
   * there is none.
   */
  readonly details?: ResponseDetails | undefined;
  /**
   * Messages about parts of the request that the provider's API could not express, and what was
   * sent instead. An example is a schema that the provider cannot enforce.
   */
  readonly warnings?: readonly string[] | undefined;
}

/** Options of `complete`. */
export interface CompleteOptions {
  /** Aborts the request. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** The source of new ids. Default: random ids. */
  readonly ids?: Ids | undefined;
  /** The session that the request belongs to. Default: none. */
  readonly session?: string | undefined;
  /** The trace that the request belongs to. Default: none. */
  readonly trace?: TraceContext | undefined;
  /**
   * Called after each step is applied, and awaited. If it throws or rejects, `complete` rejects
   * with the same error and closes the stream. Default: none.
   */
  readonly onStep?:
    | ((step: StreamStep) => void)
    | ((step: StreamStep) => Promise<void>)
    | undefined;
}

/** A complete response. After an error or an abort, it contains everything that arrived before. */
export interface Completion extends ResponseEnd {
  /** The assistant item, with all its parts. */
  readonly item: Item;
  /** The text of all text parts of the item, joined. */
  readonly text: string;
  /** The value of the structured part, if the request asked for output with a schema. */
  readonly value?: JsonValue | undefined;
}

/** An HTTP request for display. It contains no headers, because they contain the API key. */
export interface DescribedRequest {
  readonly method: 'POST';
  /** The URL without its query, because a query can contain a key. Undefined if nothing is sent. */
  readonly url?: string | undefined;
  /** The JSON body. */
  readonly body: JsonObject;
}
