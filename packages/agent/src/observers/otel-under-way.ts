import type { LogRecord, SessionId } from '@millrace/core';
import type { ObservedRun } from './observer.ts';
import type { TimedSpan } from './otel-span.ts';

export interface AttemptSpan {
  readonly turn: number;
  readonly attempt: number;
  readonly span: TimedSpan;
  readonly startMs: number;
  hasBegun: boolean;
  /** When it failed, if somebody else has yet to say what becomes of it. */
  failedMs: number | undefined;
}

export interface ExecutionSpan {
  readonly turn: number;
  readonly span: TimedSpan;
  readonly child: SessionId | undefined;
}

/** For whoever hears of records without being told which run they are part of. */
export function aboutRun({ fact }: LogRecord): ObservedRun | undefined {
  return fact?.type === 'run_started' ? { id: fact.runId, trace: fact.trace } : undefined;
}
