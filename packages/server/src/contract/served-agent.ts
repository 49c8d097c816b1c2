import type { Agent } from '@millrace/agent';
import type { Item, JsonObject, TraceContext } from '@millrace/core';
import type { ModelRequest, Provider, StreamStep } from '@millrace/providers';
import type { Content, ContentInput } from './content.ts';
import type { TaskMessage, Update, UpdateInput } from './message.ts';
import type { AgentInfo, SpanInfo, Task, TaskEvent } from './task.ts';

/** What a server can serve. */
export type ServedAgent = SyncAgent | AsyncAgent | LoopAgent;

interface Named {
  /** Lower case letters, digits and hyphens. */
  readonly name: string;
  readonly description?: string | undefined;
}

/** Answers each message with a stream of updates, which the server accumulates and keeps. */
export interface SyncAgent extends Named {
  readonly type: 'sync';
  readonly onMessage: (
    content: Content,
    context: HandlerContext,
  ) => AsyncIterable<UpdateInput> | Promise<ContentInput | readonly ContentInput[]>;
}

/** Gets events and streams by itself. The events of one task come in order, one at a time. */
export interface AsyncAgent extends Named {
  readonly type: 'async';
  readonly onTaskCreate?: ((context: HandlerContext) => Promise<void>) | undefined;
  readonly onEvent: (event: TaskEvent, context: HandlerContext) => Promise<void>;
  /** The work that goes on is told by `context.signal` first. */
  readonly onCancel?: ((context: HandlerContext) => Promise<void>) | undefined;
}

/** An agent loop as it is: a message is a run, and what comes meanwhile steers or waits. */
export interface LoopAgent extends Named {
  readonly type: 'loop';
  readonly agent: Agent;
}

/** What the handler of a sync or an async agent has to work with. */
export interface HandlerContext {
  readonly task: Task;
  readonly agent: AgentInfo;
  /** Aborted by an interrupt, a cancel, and when the server stops. */
  readonly signal: AbortSignal;
  readonly messages: Messages;
  readonly state: StateOfTask;
  readonly events: EventsOfTask;
  readonly tracing: Tracing;
  /**
   * What the handler's run is part of, where whoever asked for it said so: for its own requests.
   * `stream.auto` sends it, and spans are under it unless they name a parent.
   */
  readonly trace?: TraceContext | undefined;
  readonly stream: Streaming;
  /** Messages as items of a request, calls and results paired. */
  toItems(messages: readonly TaskMessage[]): readonly Item[];
}

export interface Messages {
  /** Oldest first. */
  list(): Promise<readonly TaskMessage[]>;
  create(content: ContentInput): Promise<TaskMessage>;
}

export interface StateOfTask {
  get(): Promise<{ readonly value: JsonObject; readonly version: number } | undefined>;
  /** Throws `conflict` where somebody changed it since that version; 0 is none yet. */
  set(value: JsonObject, options?: { readonly ifVersion?: number }): Promise<number>;
}

export interface EventsOfTask {
  /** After the cursor, which is the id of an event; all of them unless told. */
  list(options?: {
    readonly after?: string;
    readonly limit?: number;
  }): Promise<readonly TaskEvent[]>;
}

export interface Tracing {
  /** Begins now; ends with `end` or with `await using`. */
  span(name: string, options?: SpanOptions): Promise<Span>;
}

export interface SpanOptions {
  readonly parent?: Span | string | undefined;
  readonly input?: JsonObject | undefined;
}

export interface Span extends AsyncDisposable {
  readonly id: string;
  readonly traceId: string;
  /** For a provider's request headers: W3C trace context. */
  readonly traceparent: string;
  /** The same with its `tracestate`, for `agent.run` and `provider.stream`. */
  readonly trace: TraceContext;
  end(result?: { readonly output?: JsonObject; readonly data?: JsonObject }): Promise<SpanInfo>;
}

export interface Streaming {
  /**
   * Asks a provider and hands its stream over: each part becomes a message, with its start, deltas and
   * done, and is kept. Gives all of them, and the last. Whatever aborts the handler aborts the request.
   */
  auto(provider: Pick<Provider, 'stream'>, request: ModelRequest): Promise<Sent>;
  /** A stream that was begun otherwise. */
  auto(steps: AsyncIterable<StreamStep>): Promise<Sent>;
  /** Writes what the caller makes of a stream, update by update. Closes itself, and lets throws pass. */
  open(content: ContentInput, options?: { readonly sinks?: readonly Sink[] }): Promise<OpenMessage>;
}

export interface Sent {
  readonly messages: readonly TaskMessage[];
  readonly final: TaskMessage | undefined;
}

/** Hears each update after it is kept. */
export type Sink = (update: Update) => void | Promise<void>;

export interface OpenMessage extends AsyncDisposable {
  readonly message: TaskMessage;
  write(update: UpdateInput): Promise<void>;
  /** What was written, or this instead of it. */
  close(content?: Content): Promise<TaskMessage>;
}
