/** The reason why a response, a turn or a run ended. */
export type StopReason =
  | 'stop'
  | 'length'
  | 'tool_use'
  | 'content_filter'
  | 'refusal'
  | 'pause'
  | 'limit'
  | 'parked'
  /** A guardrail stopped the run. */
  | 'blocked'
  | 'aborted'
  | 'error'
  | 'unknown';

/** Describes how a response, a turn or a run ended. */
export interface Stop {
  readonly reason: StopReason;
  /** The stop reason as the provider sent it. */
  readonly raw?: string;
  /** More detail, for example `interrupted` after a crash, or the name of a limit. */
  readonly cause?: string;
}

/** The code and message of an error, in a form that a record or an event can contain. */
export interface ErrorInfo {
  readonly code: string;
  readonly message: string;
}
