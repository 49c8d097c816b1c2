import {
  type Attempt,
  type ExecutionId,
  spanIdOf,
  type TraceContext,
  underSpan,
} from '@millrace/core';
import type { LoopState } from '../contract/loop-state.ts';
import { activeCommands } from './commands.ts';

type Traced = Pick<LoopState, 'run' | 'trace'>;

/** What a request is sent with: the run's trace, under the span of the attempt. */
export function traceOfAttempt({ run, trace }: Traced, at: Attempt): TraceContext | undefined {
  return run && trace && underSpan(trace, spanIdOf.attempt(run.id, at));
}

/** What a tool gets: the run's trace, under the span of its execution. */
export function traceOfExecution(
  { run, trace }: Traced,
  execution: ExecutionId,
): TraceContext | undefined {
  return run && trace && underSpan(trace, spanIdOf.execution(run.id, execution));
}

/**
 * What a run is part of that nobody told: a turn that waited goes on in its own trace, a message that
 * waited brings the trace of whoever sent it. All of it is on the log, so any process finds the same.
 */
export function traceForNewRun({ turn, trace, commands }: LoopState): TraceContext | undefined {
  if (turn !== undefined) return trace;
  for (const { command } of activeCommands(commands))
    if (command.type === 'message') return command.trace;
  return undefined;
}
