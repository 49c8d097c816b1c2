import type { AgentEvent, LogRecord } from '@millrace/core';

/**
 * Hears of each record after its commit, in order, once, with the events that it is told as. Called
 * inline: write, count or pass on, and never block. It cannot steer, and what it gets is not its own to
 * change. One that throws is reported and goes on hearing.
 */
export type Observer = (record: LogRecord, events: readonly AgentEvent[]) => void;
