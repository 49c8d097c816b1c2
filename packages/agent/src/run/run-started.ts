import type { DraftRecord, RunId, TraceContext } from '@millrace/core';
import { standingCommands } from '../loop/command.ts';
import type { LoopState } from '../loop/loop-state.ts';

export function runStarted(runId: RunId, trace: TraceContext | undefined): DraftRecord {
  const fact = { type: 'run_started', runId, ...(trace && { trace }) } as const;
  return { turn: 0, attempt: 0, fact };
}

/**
 * What a run is part of that nobody told: a turn that waited goes on in its own trace, a message that
 * waited brings the trace of whoever sent it. All of it is on the log, so any process finds the same.
 */
export function traceFor({ turn, trace, commands }: LoopState): TraceContext | undefined {
  if (turn !== undefined) return trace;
  for (const { command } of standingCommands(commands))
    if (command.type === 'message') return command.trace;
  return undefined;
}
