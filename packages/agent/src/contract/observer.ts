import type { AgentEvent, LogRecord, RunId, TraceContext } from '@millrace/core';

/** The run that a record belongs to. A different process may have started it. */
export interface ObservedRun {
  readonly id: RunId;
  readonly trace?: TraceContext | undefined;
  /** The name of the agent. */
  readonly agent?: string | undefined;
}

/**
 * A function that is called once after each record is committed, in the order of the records. It gets the
 * record and its events. The run waits for the call to return, so an observer must not block. It cannot
 * change the run, and it must not modify its arguments. If an observer throws, `onDiagnostic` gets the error
 * and the observer stays registered.
 */
export interface Observer {
  (record: LogRecord, events: readonly AgentEvent[], run?: ObservedRun): void;
  /**
   * True if the observer is called only for facts and not for deltas. Streamed text then adds no cost.
   * Default: false.
   */
  readonly ignoresDeltas?: boolean | undefined;
}
