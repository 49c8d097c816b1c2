import type { AskedApproval, FoldState, ItemState } from '../fold/fold-state.ts';
import { toArray } from '../fold/sequence.ts';
import type { ToolCallId } from '../ids.ts';
import type { Fact } from '../protocol/fact.ts';
import { hasCall, itemsOfRun, slotChunks } from './part-chunks.ts';
import type { UiChunk } from './ui-chunk.ts';

/** Returns whether the item belongs to the assistant's message. */
export function isStepItem({ kind, turn }: ItemState): boolean {
  return turn > 0 && (kind === 'assistant' || kind === 'tool');
}

/**
 * Returns whether the turn has started a step. This includes a turn whose only attempt was
 * superseded.
 */
export function hasStep(state: FoldState, turn: number): boolean {
  return (
    state.superseded.some((tried) => tried.turn === turn) ||
    itemsOfRun(state).some((item) => isStepItem(item) && item.turn === turn)
  );
}

/**
 * Returns the chunks of the message from the step of this turn on, without the chunk that starts
 * the step.
 */
export function stepsFrom(state: FoldState, turn: number): readonly UiChunk[] {
  const items = itemsOfRun(state);
  const start = items.findIndex((item) => isStepItem(item) && item.turn === turn);
  return start < 0 ? [] : messageChunks(state, items.slice(start)).slice(1);
}

/** Returns all chunks of the current message. */
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

/**
 * Returns the chunks that reset the current step and send it again. The AI SDK's protocol can only
 * reset a whole step.
 */
export function restateStep(state: FoldState): readonly UiChunk[] {
  const chunks = stepItems(state).flatMap((item) => itemChunks(state, item));
  return [{ type: 'reset-step' }, ...chunks, ...pendingApprovalChunks(state)];
}

/** Returns whether the item belongs to the current step. */
export function isInStep(state: FoldState, item: ItemState | undefined): boolean {
  return item !== undefined && stepItems(state).some(({ id }) => id === item.id);
}

/** Returns the items after the last start of a step. */
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
 * Returns the chunk for a message that the user sent during the answer. Returns no chunk for an earlier
 * message, because the client already has that message.
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
 * Returns the chunks that ask for an approval. A call has one question at a time, so the call's id is also
 * the approval's id. The call of a sub-agent is on the sub-agent's log. The message contains this call only
 * while its question is pending.
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
 * Returns the chunks for the call of a sub-agent. The call of this session that runs the sub-agent gets a
 * temporary output, which the real output replaces later. The reason is that the AI SDK sends answers only
 * when no other call of the step is unfinished.
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

/** Returns the chunks of all pending approvals. */
export function pendingApprovalChunks(state: FoldState): readonly UiChunk[] {
  return state.asked.flatMap((one) => approvalRequestChunks(state, one));
}

/**
 * Returns the chunks for the answer to an approval. Returns no chunks if the stream did not show the
 * question, because clients reject an answer without its question.
 */
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

/**
 * Returns the chunks that remove calls of sub-agents from the step. A call is removed after its question was
 * answered or is no longer valid.
 */
export function closedQuestionChunks(before: FoldState, after: FoldState): readonly UiChunk[] {
  if (before.asked === after.asked) return [];
  const isClosed = ({ from, toolCallId }: AskedApproval) =>
    from !== undefined && !after.asked.some((one) => one.toolCallId === toolCallId);
  return before.asked.some(isClosed) ? restateStep(after) : [];
}

/**
 * Returns whether the run waits for an approval, or for the output of a tool that the client runs. If so, the
 * stream must end, because the AI SDK's client sends its answers only after the end of a stream.
 */
export function waitsForClient({ run, asked, awaited, items }: FoldState): boolean {
  const turn = asked[0]?.turn ?? awaited[0]?.turn;
  if (run === undefined || turn === undefined) return false;
  // If a guardrail asks about an item, no call of the turn runs yet, so the run waits only for the answer.
  if (asked.some(({ toolCallId, from }) => from?.toolCallId === toolCallId)) return true;
  const ours = toArray(items).filter((item) => item.turn === turn);
  if (ours.some(({ kind, finished }) => kind === 'assistant' && finished === undefined))
    return false;
  const parts = ours.flatMap((item) => item.parts.flatMap(({ part }) => part ?? []));
  // A call also waits if its sub-agent asks a question.
  const settled = new Set<string>(asked.map((one) => one.from?.toolCallId ?? one.toolCallId));
  for (const { toolCallId } of awaited) settled.add(toolCallId);
  for (const part of parts) if (part.kind === 'tool_result') settled.add(part.toolCallId);
  return parts.every((part) => part.kind !== 'tool_call' || settled.has(part.toolCallId));
}

/**
 * Changes the chunks of calls that the client has already run. The AI SDK's client would run a tool again if
 * it received the complete input again. These chunks therefore contain the input as a delta.
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
