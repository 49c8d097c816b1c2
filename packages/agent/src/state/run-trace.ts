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

/** Returns the trace context for a request. Its parent is the span of the attempt. */
export function traceOfAttempt({ run, trace }: Traced, at: Attempt): TraceContext | undefined {
  return run && trace && underSpan(trace, spanIdOf.attempt(run.id, at));
}

/** Returns the trace context for a tool. Its parent is the span of the execution. */
export function traceOfExecution(
  { run, trace }: Traced,
  execution: ExecutionId,
): TraceContext | undefined {
  return run && trace && underSpan(trace, spanIdOf.execution(run.id, execution));
}

/**
 * Returns the trace of a new run that has no `trace` option. If a turn waits, its trace is kept. Otherwise
 * the first queued message provides the trace. Both traces are on the log, so every process determines the
 * same trace.
 */
export function traceForNewRun({ turn, trace, commands }: LoopState): TraceContext | undefined {
  if (turn !== undefined) return trace;
  for (const { command } of activeCommands(commands))
    if (command.type === 'message') return command.trace;
  return undefined;
}
