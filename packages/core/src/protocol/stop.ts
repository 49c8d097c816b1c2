/** Why it ended: a response, a turn or a run. */
export type StopReason =
  | 'stop'
  | 'length'
  | 'tool_use'
  | 'content_filter'
  | 'refusal'
  | 'pause'
  | 'limit'
  | 'parked'
  | 'aborted'
  | 'error'
  | 'unknown';

export interface Stop {
  readonly reason: StopReason;
  /** The provider's own word for it. */
  readonly raw?: string;
  /** What was behind it, for instance `interrupted` after a crash, or a budget's name. */
  readonly cause?: string;
}

/** An error as data: what a record or an event can carry. */
export interface ErrorInfo {
  readonly code: string;
  readonly message: string;
}
