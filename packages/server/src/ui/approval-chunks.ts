import type { AskedApproval, Fact, FoldState } from '@millrace/core';
import { hasCall } from './calls-of-run.ts';
import type { UiChunk } from './ui-chunk.ts';

type Question = Pick<AskedApproval, 'toolCallId'> & { readonly reason?: string | undefined };
type Answered = Extract<Fact, { readonly type: 'approval_answered' }>;

/** A call that waits for somebody. A call has one question at a time, so that its id names that too. */
export function askedChunks(
  state: FoldState,
  { toolCallId, reason }: Question,
): readonly UiChunk[] {
  if (!hasCall(state, toolCallId)) return [];
  const why = reason === undefined ? {} : { reason };
  return [{ type: 'tool-approval-request', toolCallId, approvalId: toolCallId, ...why }];
}

/** All that is asked at the moment. */
export function questionChunks(state: FoldState): readonly UiChunk[] {
  return state.asked.flatMap((one) => askedChunks(state, one));
}

/** Somebody answered. A client refuses an answer to what it was not asked. */
export function answeredChunks(
  before: FoldState,
  { toolCallId, decision, reason }: Omit<Answered, 'type' | 'name'>,
): readonly UiChunk[] {
  const isAsked = before.asked.some((one) => one.toolCallId === toolCallId);
  if (!isAsked || !hasCall(before, toolCallId)) return [];
  const why = reason === undefined ? {} : { reason };
  const approved = decision === 'allow';
  return [{ type: 'tool-approval-response', approvalId: toolCallId, approved, ...why }];
}
