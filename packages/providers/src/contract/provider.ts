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

/** A model of a provider. It sends a request and returns the answer as a stream of deltas. */
export interface Provider {
  /**
   * The provider's id, for example `anthropic`. Together with `model`, it identifies the owner of
   * `providerState`.
   */
  readonly id: string;
  /** The model's name in the API. */
  readonly model: string;
  /** The limits, abilities and prices of the model. Undefined if they are unknown. */
  readonly info?: ModelInfo | undefined;
  /**
   * Makes one attempt at the request. The stream does not throw for failures at run time. Instead, its last
   * step reports an error, a timeout or an abort. The stream sends no request before the caller reads the
   * first step.
   */
  readonly stream: Stream;
  /**
   * Streams one attempt and returns the complete response. Use it if you do not need the deltas.
   */
  complete(request: ModelRequest, options?: CompleteOptions): Promise<Completion>;
  /**
   * Returns the HTTP request for display, without secrets and without sending it. Throws if the provider
   * cannot express the request. The method is undefined if a different package creates the HTTP requests.
   * Containers are part of the request only if they belong to the session of the options.
   */
  describe?(request: ModelRequest, options?: Pick<StreamContext, 'session'>): DescribedRequest;
  /**
   * Counts the input tokens of a request with the provider's own endpoint, which is free of charge. Resolves
   * with undefined if the endpoint gives no answer. The method is undefined if the provider has no such
   * endpoint. In this case, use `estimateTokens`.
   */
  countTokens?(
    request: ModelRequest,
    options?: QueryOptions & Pick<StreamContext, 'session'>,
  ): Promise<number | undefined>;
  /**
   * Reads the size of the model's context window from its server, in tokens. Resolves with undefined if the
   * server does not report it. The method is undefined if servers of this kind never report it.
   */
  contextTokens?(options?: QueryOptions): Promise<number | undefined>;
}

/** Options for a small request that does not stream, such as counting tokens. */
export interface QueryOptions {
  /** Aborts the request. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** Streams one attempt at a request. */
export type Stream = (request: ModelRequest, context: StreamContext) => AsyncIterable<StreamStep>;

/** The values that a stream needs besides the request. */
export interface StreamContext {
  /** The assistant item that the caller has started, and its attempt. */
  readonly item: StreamItem;
  /** The generator of new ids. */
  readonly ids: Ids;
  /**
   * The session that the request belongs to. The provider keeps uploaded files until their sessions are
   * released. It uses containers and remote tasks only in the session that created them. Default: none.
   */
  readonly session?: string | undefined;
  /** Aborts the stream. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The trace that the request belongs to. Providers that use HTTP send it as W3C trace headers.
   */
  readonly trace?: TraceContext | undefined;
}

/** The item to which a stream writes, and its attempt. */
export interface StreamItem extends Attempt {
  readonly id: ItemId;
}

/** The deltas from one read of the network. Only the last step has an `end`. */
export interface StreamStep {
  readonly deltas: readonly Delta[];
  /**
   * The end of the response. Only the last step has it. All parts are closed at this point. If the response
   * was cut off, text and reasoning were committed as partial, and open tool calls were retracted.
   */
  readonly end?: ResponseEnd | undefined;
}

/** Describes how a response ended. */
export interface ResponseEnd {
  /**
   * The reason why the response ended. The reason is `error` or `aborted` if `error` is set. Otherwise it is
   * the provider's stop reason.
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
  /** The id that the provider gave to the response. The provider's support needs it to find the response. */
  readonly responseId?: string | undefined;
  /**
   * Other data that the provider reported, such as tier, safety ratings and timings. Missing if the provider
   * reported none.
   */
  readonly details?: ResponseDetails | undefined;
  /**
   * Messages about parts of the request that the provider's API cannot express, and about the replacement
   * that was sent. An example is a schema that the provider cannot enforce.
   */
  readonly warnings?: readonly string[] | undefined;
}

/** Options of `complete`. */
export interface CompleteOptions {
  /** Aborts the request. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** The generator of new ids. Default: random ids. */
  readonly ids?: Ids | undefined;
  /** The session that the request belongs to. Default: none. */
  readonly session?: string | undefined;
  /** The trace that the request belongs to. Default: none. */
  readonly trace?: TraceContext | undefined;
  /**
   * Called and awaited after each step is applied. If it throws or rejects, `complete` closes the stream and
   * rejects with the same error. Default: none.
   */
  readonly onStep?:
    | ((step: StreamStep) => void)
    | ((step: StreamStep) => Promise<void>)
    | undefined;
}

/** A complete response. After an error or an abort, it contains all content that arrived before. */
export interface Completion extends ResponseEnd {
  /** The assistant item, with all its parts. */
  readonly item: Item;
  /** The joined text of all text parts of the item. */
  readonly text: string;
  /** The value of the structured part, if the request asked for output with a schema. */
  readonly value?: JsonValue | undefined;
}

/** An HTTP request for display. It contains no headers, because headers can contain the API key. */
export interface DescribedRequest {
  readonly method: 'POST';
  /** The URL without its query, because a query can contain a key. Undefined if no HTTP request is sent. */
  readonly url?: string | undefined;
  /** The JSON body. */
  readonly body: JsonObject;
}
