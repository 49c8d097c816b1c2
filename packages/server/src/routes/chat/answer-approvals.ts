import type { FoldState, LogRecord } from '@millrace/core';
import {
  approvalAnswerChunks,
  hideCalls,
  messageId,
  pendingApprovalChunks,
  stepsFrom,
  type UiChunk,
} from '@millrace/core/streams';
import { type Log, readBackward } from '@millrace/log';
import type { Command } from '../../contract/request-bodies.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { RouteContext } from '../../http/route.ts';
import type { CallDecision } from '../../journal/journal-state.ts';
import { lateDecision } from '../../tasks/late-decision.ts';
import { type ApprovalAnswer, type ChatInput, noInput } from './chat-body.ts';
import { type ChatState, type ChatStep, readChatNear } from './chat-state.ts';
import type { Chat } from './chat-task.ts';
import type { AnswerStream } from './stream-answer.ts';

type ApprovalInput = Extract<ChatInput, { readonly kind: 'answers' }>;

/**
 * Submits the user's answers to pending approvals, and the outputs of tools that the client executed. Returns
 * the stream that continues the message that contains these calls.
 */
export async function answerApprovals(
  { taskId, id }: Chat,
  { messageId: shownId, answers, outputs: given }: ApprovalInput,
  { service, log, trace, inTurn }: RouteContext,
): Promise<AnswerStream> {
  const named = new Set([...answers, ...given].map(({ callId }) => callId));
  let pendingState: ChatState | undefined;
  const decided = new Map<string, Decided>();
  const onStep = ({ after, record: { fact } }: ChatStep) => {
    if (isPending(after.fold, named)) pendingState = after;
    if (fact?.type === 'approval_answered' && named.has(fact.toolCallId))
      decided.set(fact.toolCallId, fact);
  };
  const read = async () => readChatNear(log, taskId, onStep, await askedAt(log, taskId, named));
  const now = await inTurn(read, 'refuse');
  if (pendingState === undefined) throw answers.length === 0 ? noInput() : notPending(id, taskId);
  const { awaited } = pendingState.fold;
  const outputs = given.filter(({ callId }) => awaited.some((one) => one.toolCallId === callId));
  const ran = new Set(outputs.map(({ callId }) => callId));
  const answeredCalls = new Set([...answers.map(({ callId }) => callId), ...ran]);
  const open = answers.filter(({ callId }) => isPending(now.fold, new Set([callId])));
  // If the client repeats an answer, the log does not change, and the client gets the rest of the message. The
  // server refuses an answer that differs from the answer on the log.
  for (const answer of answers)
    if (!open.includes(answer)) assertSameAnswer(taskId, answer, decided.get(answer.callId));
  for (const { callId, output, error } of outputs) {
    const isOpen = isPending(now.fold, new Set([callId]));
    const result = error === undefined ? { output: output ?? null } : { error };
    const command = { type: 'tool_output', tool_call_id: callId, by: 'chat', ...result } as const;
    if (isOpen) await service.tasks.submit(taskId, command, { trace });
  }
  for (const answer of open) await service.tasks.submit(taskId, commandOf(answer), { trace });
  const opening = restateFrom(pendingState.fold, answers, shownId ?? messageId(pendingState.fold));
  return { from: pendingState, opening: hideCalls(opening, ran), answeredCalls };
}

/** The number of records that are searched for the questions. A question in an older record is not found. */
const searchedRecords = 100_000;

/** Returns the offset before the last question about one of the calls. Undefined if there is none. */
async function askedAt(
  log: Log,
  taskId: string,
  calls: ReadonlySet<string>,
): Promise<number | undefined> {
  const isQuestion = ({ fact }: LogRecord) =>
    (fact?.type === 'approval_asked' || fact?.type === 'tool_output_asked') &&
    calls.has(fact.toolCallId);
  for await (const records of readBackward(log, taskId, { maxRecords: searchedRecords })) {
    const asked = records.findLast(isQuestion);
    if (asked !== undefined) return asked.offset - 1;
  }
  return undefined;
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

function isPending({ asked, awaited }: FoldState, calls: ReadonlySet<string>): boolean {
  return [...asked, ...awaited].some(({ toolCallId }) => calls.has(toolCallId));
}

/**
 * Returns the chunks that send the last step again from its start. The client continues the message that it
 * already shows.
 */
function restateFrom(
  fold: FoldState,
  answers: readonly ApprovalAnswer[],
  shownId: string,
): readonly UiChunk[] {
  const { turn = 0 } = fold.asked[0] ?? fold.awaited[0] ?? {};
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
