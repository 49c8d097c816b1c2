import type { FoldState, Stop, StopReason } from '@millrace/core';
import type { FinishReason, UiChunk } from './ui-chunk.ts';

export function messageId({ session, run }: Pick<FoldState, 'session' | 'run'>): string {
  return `${session}.${run}`;
}

const reasons: { readonly [Reason in StopReason]: FinishReason } = {
  stop: 'stop',
  length: 'length',
  tool_use: 'tool-calls',
  content_filter: 'content-filter',
  refusal: 'content-filter',
  pause: 'other',
  limit: 'other',
  parked: 'other',
  aborted: 'interrupted',
  error: 'error',
  unknown: 'other',
};

/** How a run ended. A client stops reading at an error, so that is said last. */
export function endChunks({ reason, cause }: Stop): readonly UiChunk[] {
  const finish: UiChunk = { type: 'finish', finishReason: reasons[reason] };
  const why = cause === undefined ? {} : { reason: cause };
  if (reason === 'aborted') return [{ type: 'abort', ...why }, finish];
  if (reason !== 'error') return [finish];
  const errorText = `The run ended with an error${cause === undefined ? '' : `: ${cause}`}`;
  return [finish, { type: 'error', errorText }];
}
