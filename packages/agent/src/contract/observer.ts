import type { AgentEvent, LogRecord, RunId, TraceContext } from '@millrace/core';

/** The run that a record is part of, also where its beginning was told to another process. */
export interface ObservedRun {
  readonly id: RunId;
  readonly trace?: TraceContext | undefined;
  /** Whose it is: the agent's name. */
  readonly agent?: string | undefined;
}

/**
 * Hears of each record after its commit, in order, once, with the events that it is told as. Called
 * inline: write, count or pass on, and never block. It cannot steer, and what it gets is not its own to
 * change. One that throws is reported and goes on hearing.
 */
export type Observer = (
  record: LogRecord,
  events: readonly AgentEvent[],
  run?: ObservedRun,
) => void;
