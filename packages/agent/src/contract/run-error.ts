import { MillraceError, type StopReason } from '@millrace/core';
import type { BlockedResult, FailedResult, UnfinishedResult } from './run.ts';

/** The codes of `RunError`. They are the reasons why a run did not finish normally. */
export type RunErrorCode = Exclude<StopReason, 'stop'>;

/**
 * The error with which `run.text()` and `run.value()` reject if the run failed, was stopped, was cut off, or
 * is parked. `result` is the complete result of the run. If `code` is `error`, `result.error` describes the
 * failure.
 */
export class RunError extends MillraceError<RunErrorCode> {
  readonly result: FailedResult | BlockedResult | UnfinishedResult;

  constructor(result: FailedResult | BlockedResult | UnfinishedResult) {
    const { session, stop, reason, cause } = result;
    const detail = stop.cause === undefined ? '' : ` (${stop.cause})`;
    const why = result.error?.message ?? `${wayOut[reason]}${detail}`;
    const message = `The run of session ${session} did not finish: ${why}`;
    super(reason, message, { session }, cause === undefined ? {} : { cause });
    this.result = result;
  }
}

const wayOut: Readonly<Record<RunErrorCode, string>> = {
  length: 'the answer was cut off. Raise maxOutputTokens of the request',
  tool_use: 'the model waits for results of its calls',
  content_filter: 'the provider filtered the answer',
  refusal: 'the model refused to answer',
  pause: 'the model paused. Resume the session',
  limit: 'it reached a limit',
  parked: 'a call waits for approval. See result.pendingApprovals',
  blocked: 'a guardrail stopped it. See result.guardrail',
  aborted: 'it was aborted',
  error: 'it failed',
  unknown: 'the provider did not report why',
};
