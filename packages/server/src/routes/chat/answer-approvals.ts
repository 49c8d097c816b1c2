import type { FoldState } from '@millrace/core';
import type { Command } from '../../contract/request-bodies.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { RouteContext } from '../../http/route.ts';
import { messageId } from '../../ui/record-chunks.ts';
import { approvalAnswerChunks, pendingApprovalChunks, stepsFrom } from '../../ui/step-chunks.ts';
import type { UiChunk } from '../../ui/ui-chunk.ts';
import type { ApprovalAnswer, ChatInput } from './chat-body.ts';
import { type ChatState, emptyChat, readChat } from './chat-state.ts';
import type { Chat } from './chat-task.ts';
import type { AnswerStream } from './stream-answer.ts';

type ApprovalInput = Extract<ChatInput, { readonly kind: 'rulings' }>;

/** Passes on what a person said about calls, and gives how their message goes on. */
export async function answerApprovals(
  { taskId, id }: Chat,
  { messageId: shown, rulings }: ApprovalInput,
  { service, log, trace }: RouteContext,
): Promise<AnswerStream> {
  const ruled = new Set(rulings.map(({ callId }) => callId));
  let asking: ChatState | undefined;
  const now = await readChat(log, emptyChat(taskId), ({ after }) => {
    if (isPending(after.fold, ruled)) asking = after;
  });
  if (asking === undefined) throw notPending(id, taskId);
  // Where somebody else was first, theirs counts, and the message goes on from there all the same.
  for (const ruling of rulings) {
    const isOpen = isPending(now.fold, new Set([ruling.callId]));
    if (isOpen) await service.tasks.submit(taskId, commandOf(ruling), { trace });
  }
  const opening = restateFrom(asking.fold, rulings, shown ?? messageId(asking.fold));
  return { from: asking, opening, answeredCalls: ruled };
}

function isPending({ asked }: FoldState, calls: ReadonlySet<string>): boolean {
  return asked.some(({ toolCallId }) => calls.has(toolCallId));
}

/** The client goes on with the message that it has: its last step is told anew, whatever came of it there. */
function restateFrom(
  fold: FoldState,
  rulings: readonly ApprovalAnswer[],
  shown: string,
): readonly UiChunk[] {
  const { turn = 0 } = fold.asked[0] ?? {};
  const answers = rulings.flatMap(({ callId, isApproved, reason }) => {
    const asked = fold.asked.find(({ toolCallId }) => toolCallId === callId);
    if (asked === undefined) return [];
    const decision = isApproved ? ('allow' as const) : ('deny' as const);
    const why = reason === undefined ? {} : { reason };
    return approvalAnswerChunks(fold, { toolCallId: asked.toolCallId, decision, ...why });
  });
  const head: readonly UiChunk[] = [{ type: 'start', messageId: shown }, { type: 'reset-step' }];
  return [...head, ...stepsFrom(fold, turn), ...pendingApprovalChunks(fold), ...answers];
}

function commandOf({ callId, isApproved, reason }: ApprovalAnswer): Command {
  const call = { tool_call_id: callId, by: 'chat' };
  return isApproved ? { type: 'approve', ...call } : { type: 'deny', ...call, reason };
}

function notPending(id: string, task: string): ServerError {
  const message = `Cannot answer for a call in chat ${id}: nobody asks about it. Read the chat again`;
  return new ServerError('bad_state', message, { task });
}
