import type {
  AgentEvent,
  ErrorInfo,
  Item,
  JsonValue,
  RunId,
  SessionId,
  Stop,
  ToolCallId,
  Usage,
} from '@millrace/core';

/** The result of a run. Errors and aborts are results too, with a `stop` that says why. */
export interface RunResult<Value = unknown> {
  readonly session: SessionId;
  /** Why the run ended. */
  readonly stop: Stop;
  /** The text of the last answer. */
  readonly text: string;
  /** The validated value, if the agent has an `output` schema. */
  readonly value?: Value | undefined;
  /** The items that the run added to the transcript, without its input. */
  readonly items: readonly Item[];
  /** Token usage of all attempts, including superseded ones. */
  readonly usage: Usage;
  /** The error, if `stop.reason` is `error`. */
  readonly error?: ErrorInfo | undefined;
  /** The value that user code threw. It exists only in this process and is not on the log. */
  readonly cause?: unknown;
}

/** Options of `Run.approve`. */
export interface ApproveOptions {
  /**
   * Replaces the input of the call. It does not run if the policy denies this input. Default: the
   * model's input.
   */
  readonly input?: JsonValue | undefined;
  /** Who approved the call, for the log. */
  readonly by?: string | undefined;
  /**
   * Also allows other calls with the same `rule`, until this time (milliseconds since 1970) or
   * until the session ends. Default: this call only.
   */
  readonly until?: number | 'session' | undefined;
}

/** Options of `Run.deny`. */
export interface DenyOptions {
  /** The reason, which the model also gets. */
  readonly reason?: string | undefined;
  /** Who denied the call, for the log. */
  readonly by?: string | undefined;
}

/** Options of `Run.toUIMessageStreamResponse`. */
export interface UiStreamOptions {
  /**
   * The id of the message that the client shows and that this run continues, for example after an
   * approval. The stream then restates the current step, not the whole message. Default: the client
   * shows none.
   */
  readonly messageId?: string | undefined;
  /** Further headers of the response. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Input of a run: a text, one item, or a list of items. */
export type RunInput = string | Item | readonly Item[];

/**
 * A run in progress: its events, its result, and methods to control it. It continues whether or not
 * anything reads it.
 */
export interface Run<Value = unknown> {
  readonly session: SessionId;
  /** The id of the run. A resumed run keeps its id. */
  readonly id: RunId;
  /**
   * The events of the run. Each iteration starts at the run's first record, however late, and ends
   * with the run.
   */
  readonly events: AsyncIterable<AgentEvent>;
  /** Resolves when the run has ended, whether it succeeded or not. */
  readonly result: Promise<RunResult<Value>>;
  /**
   * The events as a stream of the platform. Like `events`, it starts at the run's first record and
   * ends with the run. The reader sets the pace. Cancelling it does not stop the run.
   */
  toReadableStream(): ReadableStream<AgentEvent>;
  /**
   * The events as Server-Sent Events: the body of a response with the type `text/event-stream`. Each
   * event has one line of JSON, and its offset as id.
   */
  toEventStream(): ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * A response with the run as one message of the AI SDK's UI message stream, version 1, for
   * `useChat`. The stream ends with the run, or when the run waits for an approval. A client that
   * disconnects does not stop the run: pass `signal: request.signal` to `agent.run` for that.
   */
  toUIMessageStreamResponse(options?: UiStreamOptions): Response;
  /** Stops the run and keeps the partial answer. Resolves when the abort is on the log. */
  abort(reason?: string): Promise<void>;
  /** Adds input to the next request. */
  steer(input: RunInput): Promise<void>;
  /** Queues input that is answered when the run would end. */
  followUp(input: RunInput): Promise<void>;
  /** Summarizes older items, before the next request or when the run would end. */
  compact(): Promise<void>;
  /**
   * Approves a call that waits for approval. Rejects with `no_such_call` if the current turn has no
   * such call.
   */
  approve(toolCallId: ToolCallId, options?: ApproveOptions): Promise<void>;
  /** Denies a call that waits for approval. The model gets an error result. */
  deny(toolCallId: ToolCallId, options?: DenyOptions): Promise<void>;
}
