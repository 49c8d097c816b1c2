import type { Agent, Tool } from '@millrace/agent';
import type { Item, JsonObject, TraceContext } from '@millrace/core';
import type { ModelRequest, Provider, StreamStep } from '@millrace/providers';
import type { Content, ContentInput } from './content.ts';
import type { TaskMessage, Update, UpdateInput } from './message.ts';
import type { AgentInfo, SpanInfo, Task, TaskEvent } from './task.ts';

/** An agent that a server can serve. */
export type ServedAgent = SyncAgent | AsyncAgent | LoopAgent;

interface NamedAgent {
  /** The name of the agent: lower case letters, digits and hyphens. */
  readonly name: string;
  /** A description that clients see. Default: empty. */
  readonly description?: string | undefined;
}

/**
 * An agent that answers each message with a stream of updates. The server combines the updates into
 * messages and stores them.
 */
export interface SyncAgent extends NamedAgent {
  readonly type: 'sync';
  /** Answers one message. Yield updates, or return the content of one or more messages. */
  readonly onMessage: (
    content: Content,
    context: HandlerContext,
  ) => AsyncIterable<UpdateInput> | Promise<ContentInput | readonly ContentInput[]>;
}

/**
 * An agent that receives events and decides when to write messages. A task's events arrive in order, one at
 * a time.
 */
export interface AsyncAgent extends NamedAgent {
  readonly type: 'async';
  /** Called once after a task was created. Default: not called. */
  readonly onTaskCreate?: ((context: HandlerContext) => Promise<void>) | undefined;
  /** Handles one event. If it throws, the task fails. */
  readonly onEvent: (event: TaskEvent, context: HandlerContext) => Promise<void>;
  /**
   * Called when the task is cancelled, after `context.signal` has stopped the current handler. Default: not
   * called.
   */
  readonly onCancel?: ((context: HandlerContext) => Promise<void>) | undefined;
}

/**
 * An agent loop from `@millrace/agent`. Each message starts a run. A message that arrives during a run steers
 * the run or waits in the queue.
 */
export interface LoopAgent extends NamedAgent {
  readonly type: 'loop';
  /** The agent loop. It must use the same log as the server. */
  readonly agent: Agent;
  /**
   * The names of the models between which a message can choose. The first one is the default. The item of
   * the message has the name in its metadata, as `model`, and the agent's `prepareStep` reads it there.
   * Default: messages cannot choose.
   */
  readonly models?: readonly string[] | undefined;
  /**
   * Returns whether the server continues the work of a task that no process drives, for example after a
   * crash. Input of clients continues the work in any case. Default: the server continues all tasks.
   */
  readonly recovers?: ((taskId: string) => boolean) | undefined;
  /**
   * The tools of the agent that clients of MCP call directly. The agent must use `toolCallProvider()`.
   * `toolAgent` creates such an agent. Default: clients of MCP send messages to the agent.
   */
  readonly offers?: readonly Tool[] | undefined;
  /**
   * The name of the served agent that runs the tool calls of MCP apps. Create it with `toolAgent`, from
   * `appTools` of the connected MCP servers and the permission policy of this agent. Every client that can
   * write to a task of this agent can then call the tools that the log lists for an app of the task. Only clients
   * with full access can send other input to that agent. Default: apps cannot call tools.
   */
  readonly appAgent?: string | undefined;
  /**
   * The tools in `offers` that take long. A client with the tasks extension of MCP gets a task for their calls.
   * Default: none.
   */
  readonly longTools?: readonly (string | LongTool)[] | undefined;
  /**
   * The abilities that each tool in `offers` requires of a client of MCP, by the name of the tool. The server
   * refuses calls of other clients. Default: nothing.
   */
  readonly needs?: Readonly<Record<string, readonly ClientAbility[]>> | undefined;
}

/** A tool that takes long. A name alone stands for a tool with the defaults. */
export interface LongTool {
  readonly name: string;
  /** True if the server refuses calls of clients without the tasks extension. Default: false. */
  readonly needsTask?: boolean | undefined;
  /**
   * True if the tool asks its first questions before it works. The call then returns these questions, and the
   * client gets the task after the answers. Default: false; the questions are questions of the task.
   */
  readonly asksFirst?: boolean | undefined;
}

/**
 * What the program of a user can do for the server: show forms to the user, ask its model, or name the folders in
 * which it works.
 */
export type ClientAbility = 'elicitation' | 'sampling' | 'roots';

/** The object through which a handler of a sync or async agent reads and writes its task. */
export interface HandlerContext {
  /** The task as it was when the handler was called. */
  readonly task: Task;
  readonly agent: AgentInfo;
  /** This signal is aborted when the task is interrupted or cancelled, and when the server closes. */
  readonly signal: AbortSignal;
  /** Reads and creates messages of the task. */
  readonly messages: HandlerMessages;
  /** The state that this agent stores for the task. */
  readonly state: HandlerState;
  /** Reads the events of the task. */
  readonly events: HandlerEvents;
  /** Records spans for tracing. */
  readonly tracing: Tracing;
  /**
   * The trace of the caller's request. Undefined if the request had no trace. Add it to the handler's own
   * requests. `stream.auto` sends it, and new spans without an explicit parent belong to it.
   */
  readonly trace?: TraceContext | undefined;
  /** Streams messages to the clients. */
  readonly stream: Streaming;
  /** Reads the files that clients uploaded for the task. */
  readonly files: HandlerFiles;
  /** Converts messages to the items of a model request. The result of each tool call is included. */
  toItems(messages: readonly TaskMessage[]): readonly Item[];
}

/** The uploaded files of a task. */
export interface HandlerFiles {
  /** Returns the bytes of an attachment by its `file_id`. Throws `not_found` if the task has no such file. */
  read(fileId: string): Promise<Uint8Array>;
}

/** The messages of a task. */
export interface HandlerMessages {
  /** Returns all messages of the task, oldest first. */
  list(): Promise<readonly TaskMessage[]>;
  /** Stores a complete message and returns it. */
  create(content: ContentInput): Promise<TaskMessage>;
}

/** A JSON value that an agent stores for a task, with a version. */
export interface HandlerState {
  /** Returns the stored state. Returns undefined if no state is stored. */
  get(): Promise<{ readonly value: JsonObject; readonly version: number } | undefined>;
  /**
   * Stores the state and returns its new version. Throws `conflict` if the stored version is not `ifVersion`.
   * With `ifVersion: 0`, it throws if a state exists.
   */
  set(value: JsonObject, options?: { readonly ifVersion?: number }): Promise<number>;
}

/** The events of a task. */
export interface HandlerEvents {
  /**
   * Lists events in order. `after` is the id of the last event to skip. Default: all events, at most 1000.
   */
  list(options?: {
    readonly after?: string;
    readonly limit?: number;
  }): Promise<readonly TaskEvent[]>;
}

/** Records the work of a handler as spans. */
export interface Tracing {
  /** Starts a span now. End it with `end`, or declare it with `await using`. */
  span(name: string, options?: SpanOptions): Promise<Span>;
}

/** Options of a new span. */
export interface SpanOptions {
  /** The parent span or its id. Default: the run's span if the request had a trace, otherwise no parent. */
  readonly parent?: Span | string | undefined;
  /** Input data. It is stored with the span but not exported. Default: none. */
  readonly input?: JsonObject | undefined;
}

/** A span that has started. */
export interface Span extends AsyncDisposable {
  readonly id: string;
  readonly traceId: string;
  /** The value of the W3C header `traceparent`, for requests that belong to this span. */
  readonly traceparent: string;
  /** `traceparent` together with `tracestate`, for `agent.run` and `provider.stream`. */
  readonly trace: TraceContext;
  /** Ends the span and stores its output. Later calls only add output and data. */
  end(result?: { readonly output?: JsonObject; readonly data?: JsonObject }): Promise<SpanInfo>;
}

/** Streams messages of a handler to the clients. */
export interface Streaming {
  /**
   * Sends a request to a provider and publishes its stream. Each part becomes a stored message with a start,
   * deltas and an end. Returns all of these messages. Aborting the handler aborts the request.
   */
  auto(provider: Pick<Provider, 'stream'>, request: ModelRequest): Promise<SentMessages>;
  /** Publishes a provider stream that the handler has already started. */
  auto(steps: AsyncIterable<StreamStep>): Promise<SentMessages>;
  /**
   * Opens a message that the handler writes in several updates. If it is declared with `await using`, the end
   * of the block closes it. Errors of the handler are not caught.
   */
  open(
    content: ContentInput,
    options?: { readonly sinks?: readonly UpdateSink[] },
  ): Promise<OpenMessage>;
}

/** The messages that `stream.auto` created. */
export interface SentMessages {
  readonly messages: readonly TaskMessage[];
  /** The last message. Undefined if the stream had no parts. */
  readonly final: TaskMessage | undefined;
}

/** A function that receives each update after it is stored. */
export type UpdateSink = (update: Update) => void | Promise<void>;

/** A message that a handler writes in several updates. */
export interface OpenMessage extends AsyncDisposable {
  /** The message as it was opened. After the message is closed, this is the complete message. */
  readonly message: TaskMessage;
  /**
   * Writes one update of this message. The server sets the `index` of the update to the index of the
   * message.
   */
  write(update: UpdateInput): Promise<void>;
  /** Closes the message. Its final content is `content` if given, otherwise the written updates. */
  close(content?: Content): Promise<TaskMessage>;
}
