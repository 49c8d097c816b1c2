import type { AgentEvent, LogRecord, RunId, TraceContext } from '@millrace/core';

/** The run that a record belongs to, even if another process started it. */
export interface ObservedRun {
  readonly id: RunId;
  readonly trace?: TraceContext | undefined;
  /** The name of the agent. */
  readonly agent?: string | undefined;
}

/**
 * A function that is called after each record is committed, in order and once, with the record's
 * events. It is called inline, so it must not block. It cannot change the run, and it must not
 * modify its arguments. An observer that throws is reported and stays registered.
 */
export type Observer = (
  record: LogRecord,
  events: readonly AgentEvent[],
  run?: ObservedRun,
) => void;
