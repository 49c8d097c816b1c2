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
export interface RunResult {
  readonly session: SessionId;
  readonly stop: Stop;
  /** What the assistant said last. */
  readonly text: string;
  /** What is new in the transcript since the run began, the input not counted. */
  readonly items: readonly Item[];
  /** Of the run's attempts, superseded ones included. */
  readonly usage: Usage;
  readonly error?: ErrorInfo | undefined;
}

/** Who, and what instead. */
export interface ApproveOptions {
  readonly input?: JsonValue | undefined;
  readonly by?: string | undefined;
}

export interface DenyOptions {
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
}

/** Text, items, or one of the caller's own histories. */
export type RunInput = string | Item | readonly Item[];

/** A run that goes on: two views of it, and what steers it. Nobody has to look at it for it to go on. */
export interface Run {
  readonly session: SessionId;
  readonly id: RunId;
  /** Each iteration begins at the run's first record, however late. It ends with the run. */
  readonly events: AsyncIterable<AgentEvent>;
  readonly result: Promise<RunResult>;
  /** Stops it, and keeps what was said. Resolves when that is on the log. */
  abort(reason?: string): Promise<void>;
  /** Joins the next request. */
  steer(input: RunInput): Promise<void>;
  /** Is answered when the run would end. */
  followUp(input: RunInput): Promise<void>;
  approve(toolCallId: ToolCallId, options?: ApproveOptions): Promise<void>;
  deny(toolCallId: ToolCallId, options?: DenyOptions): Promise<void>;
}
