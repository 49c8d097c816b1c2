import type {
  Attempt,
  Delta,
  Ids,
  Item,
  ItemId,
  JsonObject,
  JsonValue,
  Stop,
  TraceContext,
  Usage,
} from '@millrace/core';
import type { ModelRequest } from './model-request.ts';
import type { ProviderError } from './provider-error.ts';

/** Turns a request into a stream of deltas. */
export interface Provider {
  /** Whose model it is, for instance `anthropic`: with `model` the owner of `providerState`. */
  readonly id: string;
  readonly model: string;
  /**
   * One attempt at the request. It never throws for what can happen on the way: an error, a time-out
   * or an abort is its end. Nothing is sent before the first step is asked for.
   */
  readonly stream: Stream;
  /** The same, folded: for whoever does not want to watch. */
  complete(request: ModelRequest, options?: CompleteOptions): Promise<Completion>;
  /**
   * What it would send for a request, for people to look at: pure, and without secrets. Throws for what
   * it cannot say. Absent where somebody else makes the request.
   */
  describe?(request: ModelRequest): DescribedRequest;
}

export type Stream = (request: ModelRequest, context: StreamContext) => AsyncIterable<StreamStep>;

export interface StreamContext {
  /** The assistant item that the caller started, and the attempt it belongs to. */
  readonly item: StreamItem;
  readonly ids: Ids;
  readonly signal?: AbortSignal | undefined;
  /** What the request is part of: providers that speak HTTP send it as W3C has it. */
  readonly trace?: TraceContext | undefined;
}

export interface StreamItem extends Attempt {
  readonly id: ItemId;
}

/** The deltas of one read from the network; the last step has the end, and is the only one that has. */
export interface StreamStep {
  readonly deltas: readonly Delta[];
  /**
   * By now every part is closed: committed, or, where the response was cut off, committed as partial
   * and open tool calls retracted.
   */
  readonly end?: ResponseEnd | undefined;
}

export interface ResponseEnd {
  /** `error` or `aborted` where `error` is set; else the provider's own. */
  readonly stop: Stop;
  /** What is known of it; reckoned, and marked so, where the provider did not say. */
  readonly usage: Usage;
  readonly error?: ProviderError | undefined;
  /** The model that answered, where the provider says so. */
  readonly model?: string | undefined;
  /** The provider's id of the response, for its support. */
  readonly responseId?: string | undefined;
}

export interface CompleteOptions {
  readonly signal?: AbortSignal | undefined;
  readonly ids?: Ids | undefined;
  /** What the request is part of. */
  readonly trace?: TraceContext | undefined;
  /**
   * Hears of each step when it is folded, and is waited for. Where it throws or rejects, so does
   * `complete`, and the stream is left.
   */
  readonly onStep?:
    | ((step: StreamStep) => void)
    | ((step: StreamStep) => Promise<void>)
    | undefined;
}

/** A whole response. An error or an abort is in it, with what had come by then. */
export interface Completion extends ResponseEnd {
  readonly item: Item;
  /** The text parts of the item, joined. */
  readonly text: string;
  /** Of its structured part, where output was asked for by a schema. */
  readonly value?: JsonValue | undefined;
}

/** What would go over the wire, for people to look at. Headers are left out: they have the key. */
export interface DescribedRequest {
  readonly method: 'POST';
  /** Without its query, which may have a key as well; undefined where nothing is sent. */
  readonly url?: string | undefined;
  readonly body: JsonObject;
}
