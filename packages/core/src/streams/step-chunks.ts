import type { AskedApproval, FoldState, ItemState } from '../fold/fold-state.ts';
import { toArray } from '../fold/sequence.ts';
import type { ToolCallId } from '../ids.ts';
import type { Fact } from '../protocol/fact.ts';
import { hasCall, itemsOfRun, slotChunks } from './part-chunks.ts';
import type { UiChunk } from './ui-chunk.ts';

/** True if the item belongs to the assistant's message. */
export function isStepItem({ kind, turn }: ItemState): boolean {
  return turn > 0 && (kind === 'assistant' || kind === 'tool');
}

/** True if the turn has started a step. This includes a turn whose only attempt was superseded. */
export function hasStep(state: FoldState, turn: number): boolean {
  return (
    state.superseded.some((tried) => tried.turn === turn) ||
    itemsOfRun(state).some((item) => isStepItem(item) && item.turn === turn)
  );
}

/** The message so far, from within the step of this turn. */
export function stepsFrom(state: FoldState, turn: number): readonly UiChunk[] {
  const items = itemsOfRun(state);
  const start = items.findIndex((item) => isStepItem(item) && item.turn === turn);
  return start < 0 ? [] : messageChunks(state, items.slice(start)).slice(1);
}

/** The whole message so far. */
export function messageChunks(
  state: FoldState,
  items: readonly ItemState[] = itemsOfRun(state),
): readonly UiChunk[] {
  const chunks: UiChunk[] = [];
  const begun = new Set<number>();
  for (const item of items) {
    if (isStepItem(item) && !begun.has(item.turn)) {
      begun.add(item.turn);
      chunks.push({ type: 'start-step' });
    }
    chunks.push(...itemChunks(state, item));
  }
  const isWaiting = state.superseded.some(({ turn }) => !begun.has(turn));
  return isWaiting ? [...chunks, { type: 'start-step' }] : chunks;
}

/** Sends the current step again, because the protocol can only reset a whole step. */
export function restateStep(state: FoldState): readonly UiChunk[] {
  const chunks = stepItems(state).flatMap((item) => itemChunks(state, item));
  return [{ type: 'reset-step' }, ...chunks, ...pendingApprovalChunks(state)];
}

/** True if the item belongs to the current step. */
export function isInStep(state: FoldState, item: ItemState | undefined): boolean {
  return item !== undefined && stepItems(state).some(({ id }) => id === item.id);
}

/** The items after the last start of a step. */
function stepItems(state: FoldState): readonly ItemState[] {
  const items = itemsOfRun(state);
  const last = items.findLast(isStepItem)?.turn;
  const isWaiting = state.superseded.some(({ turn }) => turn !== last);
  if (last === undefined || isWaiting) return isWaiting ? [] : items;
  return items.slice(items.findIndex((item) => isStepItem(item) && item.turn === last));
}

function itemChunks(state: FoldState, item: ItemState): readonly UiChunk[] {
  if (isStepItem(item)) return item.parts.flatMap((slot) => slotChunks(state, slot));
  return item.finished === undefined ? [] : steeringChunks(state, item);
}

/**
 * A message that the user sent during the answer. Earlier messages are omitted, because the client
 * has them.
 */
export function steeringChunks(state: FoldState, item: ItemState): readonly UiChunk[] {
  const first = itemsOfRun(state).find((one) => isStepItem(one) || one.id === item.id);
  const isBefore = first === undefined || first.id === item.id;
  if (item.kind !== 'user' || isBefore) return [];
  const texts = item.parts.flatMap(({ part }) => (part?.kind === 'text' ? part.text : []));
  const parts = texts.map((text) => ({ type: 'text', text }) as const);
  return parts.length === 0 ? [] : [{ type: 'steering-message', id: item.id, parts }];
}

type ApprovalQuestion = Pick<AskedApproval, 'toolCallId' | 'name'> & {
  readonly reason?: string | undefined;
  readonly from?: AskedApproval['from'];
};
type ApprovalAnswered = Extract<Fact, { readonly type: 'approval_answered' }>;

/**
 * Asks for an approval. A call has one question at a time, so the call's id is also the approval's
 * id. The call of a sub-agent is on another log. It is in the message while its question is pending.
 */
export function approvalRequestChunks(
  state: FoldState,
  { toolCallId, name: toolName, reason, from }: ApprovalQuestion,
): readonly UiChunk[] {
  if (from === undefined && !hasCall(state, toolCallId)) return [];
  const why = reason === undefined ? {} : { reason };
  const request = { type: 'tool-approval-request', toolCallId, approvalId: toolCallId } as const;
  const call = from === undefined ? [] : childCallChunks(state, from, { toolCallId, toolName });
  return [...call, { ...request, ...why }];
}

/**
 * The call of a sub-agent. The call that runs the sub-agent gets an output for now, because the
 * AI SDK sends answers only when no other call of the step is unfinished. The real output replaces it.
 */
function childCallChunks(
  state: FoldState,
  { input, toolCallId: caller }: NonNullable<AskedApproval['from']>,
  call: { readonly toolCallId: ToolCallId; readonly toolName: string },
): readonly UiChunk[] {
  const output = `${call.toolName} waits for an approval.`;
  const waiting: UiChunk = { type: 'tool-output-available', toolCallId: caller, output };
  const before = hasCall(state, caller) ? [waiting] : [];
  return [...before, { type: 'tool-input-available', ...call, input }];
}

/** All pending approvals. */
export function pendingApprovalChunks(state: FoldState): readonly UiChunk[] {
  return state.asked.flatMap((one) => approvalRequestChunks(state, one));
}

/** Reports the answer to an approval. Clients reject an answer without a question. */
export function approvalAnswerChunks(
  before: FoldState,
  { toolCallId, decision, reason }: Omit<ApprovalAnswered, 'type' | 'name'>,
): readonly UiChunk[] {
  const asked = before.asked.find((one) => one.toolCallId === toolCallId);
  const isShown = asked?.from !== undefined || hasCall(before, toolCallId);
  if (asked === undefined || !isShown) return [];
  const why = reason === undefined ? {} : { reason };
  const approved = decision === 'allow';
  return [{ type: 'tool-approval-response', approvalId: toolCallId, approved, ...why }];
}

/** Removes the calls of sub-agents from the step when their questions are no longer pending. */
export function closedQuestionChunks(before: FoldState, after: FoldState): readonly UiChunk[] {
  if (before.asked === after.asked) return [];
  const isClosed = ({ from, toolCallId }: AskedApproval) =>
    from !== undefined && !after.asked.some((one) => one.toolCallId === toolCallId);
  return before.asked.some(isClosed) ? restateStep(after) : [];
}

/**
 * True if the run cannot continue without an approval, or without the output of a tool that the client
 * runs. The AI SDK's client sends its answers after a stream has ended, so the stream must end here.
 */
export function waitsForClient({ run, asked, awaited, items }: FoldState): boolean {
  const turn = asked[0]?.turn ?? awaited[0]?.turn;
  if (run === undefined || turn === undefined) return false;
  // A guardrail asks about an item before the calls of the turn run.
  if (asked.some(({ toolCallId, from }) => from?.toolCallId === toolCallId)) return true;
  const ours = toArray(items).filter((item) => item.turn === turn);
  if (ours.some(({ kind, finished }) => kind === 'assistant' && finished === undefined))
    return false;
  const parts = ours.flatMap((item) => item.parts.flatMap(({ part }) => part ?? []));
  // A call whose sub-agent asks waits too.
  const settled = new Set<string>(asked.map((one) => one.from?.toolCallId ?? one.toolCallId));
  for (const { toolCallId } of awaited) settled.add(toolCallId);
  for (const part of parts) if (part.kind === 'tool_result') settled.add(part.toolCallId);
  return parts.every((part) => part.kind !== 'tool_call' || settled.has(part.toolCallId));
}

/**
 * Restates calls that the client has run already. The AI SDK's client runs a tool again when its input
 * is available again, so the input is sent as if it streamed.
 */
export function hideCalls(
  chunks: readonly UiChunk[],
  calls: ReadonlySet<string>,
): readonly UiChunk[] {
  if (calls.size === 0) return chunks;
  return chunks.map((chunk): UiChunk => {
    if (chunk.type !== 'tool-input-available' || !calls.has(chunk.toolCallId)) return chunk;
    const { toolCallId, input } = chunk;
    return { type: 'tool-input-delta', toolCallId, inputTextDelta: JSON.stringify(input) };
  });
}
