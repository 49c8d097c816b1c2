import {
  type Attempt,
  type ExecutionId,
  spanIdOf,
  type TraceContext,
  underSpan,
} from '@millrace/core';
import type { LoopState } from '../loop/loop-state.ts';

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
