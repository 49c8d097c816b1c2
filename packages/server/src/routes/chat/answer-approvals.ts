import type { FoldState } from '@millrace/core';
import {
  approvalAnswerChunks,
  messageId,
  pendingApprovalChunks,
  stepsFrom,
  type UiChunk,
} from '@millrace/core/streams';
import type { Command } from '../../contract/request-bodies.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { RouteContext } from '../../http/route.ts';
import type { CallDecision } from '../../journal/journal-state.ts';
import { lateDecision } from '../../tasks/late-decision.ts';
import type { ApprovalAnswer, ChatInput } from './chat-body.ts';
import { type ChatState, emptyChat, readChat } from './chat-state.ts';
import type { Chat } from './chat-task.ts';
import type { AnswerStream } from './stream-answer.ts';

type ApprovalInput = Extract<ChatInput, { readonly kind: 'answers' }>;

/**
 * Submits the user's answers to pending approvals. Returns the stream that continues their message.
 */
export async function answerApprovals(
  { taskId, id }: Chat,
  { messageId: shownId, answers }: ApprovalInput,
  { service, log, trace }: RouteContext,
): Promise<AnswerStream> {
  const answeredCalls = new Set(answers.map(({ callId }) => callId));
  let pendingState: ChatState | undefined;
  const decided = new Map<string, Decided>();
  const now = await readChat(log, emptyChat(taskId), ({ after, record: { fact } }) => {
    if (isPending(after.fold, answeredCalls)) pendingState = after;
    if (fact?.type === 'approval_answered' && answeredCalls.has(fact.toolCallId))
      decided.set(fact.toolCallId, fact);
  });
  if (pendingState === undefined) throw notPending(id, taskId);
  const open = answers.filter(({ callId }) => isPending(now.fold, new Set([callId])));
  // A repeated answer continues the message. Another answer than the one that counts is refused.
  for (const answer of answers)
    if (!open.includes(answer)) assertSameAnswer(taskId, answer, decided.get(answer.callId));
  for (const answer of open) await service.tasks.submit(taskId, commandOf(answer), { trace });
  const opening = restateFrom(pendingState.fold, answers, shownId ?? messageId(pendingState.fold));
  return { from: pendingState, opening, answeredCalls };
}

type Decided = Pick<CallDecision, 'decision' | 'by' | 'reason'>;

function assertSameAnswer(
  taskId: string,
  { callId, isApproved }: ApprovalAnswer,
  decided: Decided | undefined,
): void {
  if (decided?.decision === (isApproved ? 'allow' : 'deny')) return;
  throw lateDecision(taskId, callId, decided ?? { decision: 'ended' });
}

function isPending({ asked }: FoldState, calls: ReadonlySet<string>): boolean {
  return asked.some(({ toolCallId }) => calls.has(toolCallId));
}

/** The client continues the message that it has, so the last step is sent again from its start. */
function restateFrom(
  fold: FoldState,
  answers: readonly ApprovalAnswer[],
  shownId: string,
): readonly UiChunk[] {
  const { turn = 0 } = fold.asked[0] ?? {};
  const answerChunks = answers.flatMap(({ callId, isApproved, reason }) => {
    const asked = fold.asked.find(({ toolCallId }) => toolCallId === callId);
    if (asked === undefined) return [];
    const decision = isApproved ? ('allow' as const) : ('deny' as const);
    const reasonField = reason === undefined ? {} : { reason };
    return approvalAnswerChunks(fold, { toolCallId: asked.toolCallId, decision, ...reasonField });
  });
  const head: readonly UiChunk[] = [{ type: 'start', messageId: shownId }, { type: 'reset-step' }];
  return [...head, ...stepsFrom(fold, turn), ...pendingApprovalChunks(fold), ...answerChunks];
}

function commandOf({ callId, isApproved, reason }: ApprovalAnswer): Command {
  const call = { tool_call_id: callId, by: 'chat' };
  return isApproved ? { type: 'approve', ...call } : { type: 'deny', ...call, reason };
}

function notPending(id: string, task: string): ServerError {
  const message = `Cannot answer an approval in chat ${id}: it is not pending. Load the chat again`;
  return new ServerError('bad_state', message, { task });
}
