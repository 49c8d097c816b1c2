import type {
  AgentUsage,
  ErrorInfo,
  GuardrailPlace,
  Item,
  JsonValue,
  NewBytes,
  RunId,
  SessionId,
  Stop,
  StopReason,
  Usage,
} from '@millrace/core';
import type {
  PendingApproval,
  PendingToolCall,
  RunEvent,
  ToolCall,
  TypedTool,
} from './typed-tools.ts';

/**
 * The result of a run. A failed or aborted run has a result too. Check `reason` to narrow the type. With
 * `stop`, the result has the `value` of the `output` schema. With `error`, it has an `error`. With `blocked`,
 * it has the `guardrail` that stopped the run.
 */
export type RunResult<Value = unknown, Tools extends TypedTool = TypedTool> =
  | FinishedResult<Value, Tools>
  | FailedResult<Tools>
  | BlockedResult<Tools>
  | UnfinishedResult<Tools>;

interface ResultFields<Tools extends TypedTool> {
  readonly session: SessionId;
  /** The reason why the run ended, with details. */
  readonly stop: Stop;
  /** The text of the last answer. */
  readonly text: string;
  /** The items that the run added to the transcript, without its input. */
  readonly items: readonly Item[];
  /** The tool calls in `items` that have a result, in order. */
  readonly toolCalls: readonly ToolCall<Tools>[];
  /** The calls that wait for an approval. Pass them to `agent.approve` or `agent.deny`. */
  readonly pendingApprovals: readonly PendingApproval<Tools>[];
  /** The calls that a client has to run. Pass them to `agent.provideToolResult`. */
  readonly pendingToolCalls: readonly PendingToolCall<Tools>[];
  /**
   * Token usage of all attempts, including failed attempts that were repeated and the attempts of sub-agents.
   */
  readonly usage: Usage;
  /**
   * The same usage, listed per agent. The first entry is the agent's own usage, with `agent` undefined. The
   * other entries are the sub-agents.
   */
  readonly usageByAgent: readonly AgentUsage[];
}

/** The result of a run that finished normally. */
export interface FinishedResult<Value = unknown, Tools extends TypedTool = TypedTool>
  extends ResultFields<Tools> {
  /** The same as `stop.reason`. */
  readonly reason: 'stop';
  /** The validated value of the answer. Undefined if the agent has no `output` schema. */
  readonly value: Value;
  readonly error?: undefined;
  readonly cause?: undefined;
}

/** The result of a run that failed. */
export interface FailedResult<Tools extends TypedTool = TypedTool> extends ResultFields<Tools> {
  /** The same as `stop.reason`. */
  readonly reason: 'error';
  /** The code and message of the failure. */
  readonly error: ErrorInfo;
  /** The value that user code threw. It exists only in this process. The log does not store it. */
  readonly cause?: unknown;
  readonly value?: undefined;
}

/** The guardrail that stopped a run. */
export interface BlockedBy {
  /** The name of the guardrail. */
  readonly name: string;
  readonly on: GuardrailPlace;
  /** The reason that the guardrail gave. */
  readonly reason: string | undefined;
}

/** The result of a run that a guardrail stopped. */
export interface BlockedResult<Tools extends TypedTool = TypedTool> extends ResultFields<Tools> {
  /** The same as `stop.reason`. */
  readonly reason: 'blocked';
  /** The guardrail that stopped the run, and the reason. */
  readonly guardrail: BlockedBy;
  readonly error?: undefined;
  readonly cause?: undefined;
  readonly value?: undefined;
}

/** The result of a run that was stopped, was cut off, or is parked. */
export interface UnfinishedResult<Tools extends TypedTool = TypedTool> extends ResultFields<Tools> {
  /** The same as `stop.reason`. */
  readonly reason: Exclude<StopReason, 'stop' | 'error' | 'blocked'>;
  readonly error?: undefined;
  readonly cause?: undefined;
  readonly value?: undefined;
}

/** Options of `Run.approve`. */
export interface ApproveOptions<Input = JsonValue> {
  /**
   * The input that replaces the model's input. The call does not run if the policy denies the new input.
   * Default: the model's input.
   */
  readonly input?: Input | undefined;
  /**
   * The state that the person saw, for example `ChangePreview.basis` of `@millrace/tools`. The tool gets this text
   * as `ToolContext.basis`, and must refuse to run in a different state. Default: the state does not matter.
   */
  readonly basis?: string | undefined;
  /** The person who approved the call, for the log. Default: not recorded. */
  readonly by?: string | undefined;
  /**
   * The time until which other calls with the same `rule` are allowed too, in milliseconds since 1970.
   * `session` means until the session ends. It cannot be combined with `input`, because the rule is about the
   * model's input. Default: the approval covers only this call.
   */
  readonly until?: number | 'session' | undefined;
}

/** Options of `Run.deny`. */
export interface DenyOptions {
  /**
   * The reason, which the model also gets. Default: the model gets only a text that the call was not allowed.
   */
  readonly reason?: string | undefined;
  /** The person who denied the call, for the log. Default: not recorded. */
  readonly by?: string | undefined;
}

/** The result of a tool that a client runs: the output, or the error with which the tool failed. */
export type ClientToolResult<Output = JsonValue> =
  | {
      /** The output. The `output` schema of the tool must accept it. */
      readonly output: Output;
      readonly error?: undefined;
      /** The person or client that provided the output, for the log. Default: not recorded. */
      readonly by?: string | undefined;
    }
  | {
      /** A description of the failure, for the model. */
      readonly error: string;
      readonly output?: undefined;
      readonly by?: string | undefined;
    };

/**
 * The output type of a call. It is the output type of the call's tool. If only the id of the call is known,
 * it is any JSON value.
 */
export type OutputOfCall<Call> = Call extends { readonly '~output'?: infer Output }
  ? Exclude<Output, undefined>
  : JsonValue;

/** Options of `Run.toUIMessageStreamResponse`. */
export interface UiStreamOptions {
  /**
   * The id of a message that the client already shows and that this run continues, for example after an
   * approval. The stream then repeats only the current step and not the whole message. Default: the run
   * starts a new message.
   */
  readonly messageId?: string | undefined;
  /** Additional headers of the response. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Returns the text that `useChat` gets as `error.message` if the run fails. If the function throws, the
   * default text is sent. Default: `The run ended with an error`, with the error code.
   */
  readonly onError?: ((error: ErrorInfo) => string) | undefined;
}

/**
 * The type of a new input for a call. It is the input type of the call's tool. If only the id of the call is
 * known, it is any JSON value.
 */
export type InputOfCall<Call> = Call extends { readonly input: infer Input } ? Input : JsonValue;

/** An item that is used as input. If it has no id, it gets a new id. */
export type InputItem = Omit<Item, 'id'> & { readonly id?: string | undefined };

/** Input of a run: a text, one item, or a list of items. */
export type RunInput = string | InputItem | readonly InputItem[];

/**
 * A run in progress, with its events, its result, and methods to control it. The run continues even if no
 * program reads its events.
 */
export interface Run<Value = unknown, Tools extends TypedTool = TypedTool, Live = JsonValue> {
  readonly session: SessionId;
  /** The id of the run. A resumed run keeps its id. */
  readonly id: RunId;
  /**
   * The events of the run. Each iteration starts at the run's first record, even if the iteration begins
   * late, and ends with the run. Before the run starts, `agent.run` may have to end an earlier run that a
   * crash interrupted. From that earlier run, the events contain only the questions: `approval_asked`,
   * `approval_answered` and `tool_output_asked`.
   */
  readonly events: AsyncIterable<RunEvent<Live, Tools>>;
  /**
   * Resolves when the session is open, with the epoch of its lease. Each later driver of the session has a
   * higher epoch. If a caller sees two runs of a session, the run with the lower epoch is outdated. Undefined
   * if the session could not be opened, or if a different process drives it.
   */
  readonly epoch: Promise<number | undefined>;
  /** Resolves when the run has ended, whether it succeeded or not. */
  readonly result: Promise<RunResult<Value, Tools>>;
  /**
   * Returns the events as a `ReadableStream`. Like `events`, it starts at the run's first record and ends
   * with the run. The stream waits for a slow reader. Cancelling the stream does not stop the run.
   */
  toReadableStream(): ReadableStream<RunEvent<Live, Tools>>;
  /**
   * Returns the events as Server-Sent Events. Use the stream as the body of a response with the type
   * `text/event-stream`. Each event is one line of JSON, and its id is the offset. If the run could not
   * start, or lost its session, the last event has no id. It is `{ session, type: 'error', error: { code,
   * message } }`.
   */
  toEventStream(): ReadableStream<NewBytes>;
  /**
   * Returns a response with the run as one message of the AI SDK's UI message stream, version 1, for
   * `useChat`. The stream ends with the run, or when the run waits for an approval or for a tool that the
   * client runs. A client that disconnects does not stop the run. To stop it, pass `signal: request.signal`
   * to `agent.run`. An earlier run may wait for the client, so that this run cannot start before the answer.
   * The stream then contains the message of that earlier run.
   */
  toUIMessageStreamResponse(options?: UiStreamOptions): Response;
  /** Resolves with the text of the last answer. Rejects with a `RunError` if the run did not finish. */
  text(): Promise<string>;
  /**
   * Resolves with the validated value of the `output` schema. Rejects with a `RunError` if the run did
   * not finish, and with `bad_option` if the agent has no `output`.
   */
  value(): Promise<Value>;
  /** Stops the run and keeps the partial answer. Resolves when the log has the abort. */
  abort(reason?: string): Promise<void>;
  /** Adds input to the next request of this run. */
  steer(input: RunInput): Promise<void>;
  /** Queues input for this run. The agent answers the input when the run would otherwise end. */
  followUp(input: RunInput): Promise<void>;
  /** Summarizes older items, before the next request or before the run ends. */
  compact(): Promise<void>;
  /**
   * Approves a call that waits for approval, by its id or by an entry of `pendingApprovals`. Rejects with
   * `no_such_call` if the current turn has no call with this id. After the run has ended, use
   * `agent.approve`.
   */
  approve<const Call extends string | PendingApproval<Tools>>(
    call: Call,
    options?: ApproveOptions<InputOfCall<Call>>,
  ): Promise<void>;
  /** Denies a call that waits for approval. The model gets an error result. */
  deny(call: string | PendingApproval<Tools>, options?: DenyOptions): Promise<void>;
  /**
   * Provides the output of a tool that a client runs, by the id of the call or by an entry of
   * `pendingToolCalls`. Rejects with `bad_input` if the tool's `output` schema rejects the output. Rejects
   * with `no_such_call` if no call with this id waits. Rejects with `already_answered` if the call already
   * has a different output.
   */
  provideToolResult<const Call extends string | PendingToolCall<Tools>>(
    call: Call,
    result: ClientToolResult<OutputOfCall<Call>>,
  ): Promise<void>;
}
