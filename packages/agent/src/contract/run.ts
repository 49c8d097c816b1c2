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

/** What a run comes to. It is a result in any case: an error or an abort is in it. */
export interface RunResult<Value = unknown> {
  readonly session: SessionId;
  readonly stop: Stop;
  /** What the assistant said last. */
  readonly text: string;
  /** The answer as it was asked for by `output`, checked. */
  readonly value?: Value | undefined;
  /** What is new in the transcript since the run began, the input not counted. */
  readonly items: readonly Item[];
  /** Of the run's attempts, superseded ones included. */
  readonly usage: Usage;
  readonly error?: ErrorInfo | undefined;
  /** What was thrown, where it was not by us. In this process alone: it is not on the log. */
  readonly cause?: unknown;
}

/** Who, what instead, and until when. */
export interface ApproveOptions {
  readonly input?: JsonValue | undefined;
  readonly by?: string | undefined;
  /**
   * Calls that are asked about by the same `rule` run without being asked about, until this time
   * (milliseconds since 1970) or to the session's end. This call alone, unless told.
   */
  readonly until?: number | 'session' | undefined;
}

export interface DenyOptions {
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
}

/** Text, items, or one of the caller's own histories. */
export type RunInput = string | Item | readonly Item[];

/** A run that goes on: two views of it, and what steers it. Nobody has to look at it for it to go on. */
export interface Run<Value = unknown> {
  readonly session: SessionId;
  readonly id: RunId;
  /** Each iteration begins at the run's first record, however late. It ends with the run. */
  readonly events: AsyncIterable<AgentEvent>;
  readonly result: Promise<RunResult<Value>>;
  /** Stops it, and keeps what was said. Resolves when that is on the log. */
  abort(reason?: string): Promise<void>;
  /** Joins the next request. */
  steer(input: RunInput): Promise<void>;
  /** Is answered when the run would end. */
  followUp(input: RunInput): Promise<void>;
  /** Has what was said long ago summarised, before the next request or when the run would end. */
  compact(): Promise<void>;
  approve(toolCallId: ToolCallId, options?: ApproveOptions): Promise<void>;
  deny(toolCallId: ToolCallId, options?: DenyOptions): Promise<void>;
}
