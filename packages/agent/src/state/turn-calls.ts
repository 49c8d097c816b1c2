import {
  type FoldState,
  findItem,
  type ItemState,
  type PartId,
  type Sequence,
  type ToolCallId,
  type ToolCallPart,
} from '@millrace/core';
import type { OutputCommand } from '../contract/command.ts';
import { type LoopState, newCallState, type TurnState } from '../contract/loop-state.ts';

interface TurnCall {
  readonly id: PartId;
  readonly part: ToolCallPart;
}

/** Returns the calls that a turn's response contains until now, in order. */
export function callsOfTurn(state: FoldState, turn: TurnState | undefined): readonly TurnCall[] {
  const slots = turn?.itemId === undefined ? [] : (findItem(state, turn.itemId)?.parts ?? []);
  return slots.flatMap(({ id, part }) => (part?.kind === 'tool_call' ? [{ id, part }] : []));
}

/** The suffix of a question's id, if the question is about a call whose input a guardrail changed. */
export const changedSuffix = '/changed';

/**
 * Returns true if several calls of the session have this id, or have the id of the question about this call.
 * A person answers a question by this id. With a repeated id, the person could see one call while a different
 * call runs.
 *
 * The loop gives each call a unique id, but repeated ids are still possible. Providers can choose ids that
 * look like ids of questions, other programs write to logs, and sessions are imported.
 */
export function isRepeatedCallId({ items }: FoldState, toolCallId: ToolCallId): boolean {
  const ids = [toolCallId, `${toolCallId}${changedSuffix}`] as ToolCallId[];
  if (toolCallId.endsWith(changedSuffix))
    ids.push(toolCallId.slice(0, -changedSuffix.length) as ToolCallId);
  return ids.reduce((found, id) => found + countCalls(items, id), 0) > 1;
}

/** Returns true if a call of the session has this id. */
export function isCallId({ items }: FoldState, id: ToolCallId): boolean {
  return countCalls(items, id) > 0;
}

function countCalls(items: Sequence<ItemState>, id: ToolCallId): number {
  let found = 0;
  for (let link: Sequence<ItemState> | undefined = items; link !== undefined; link = link.before)
    found += callCountsIn(link.chunk).get(id) ?? 0;
  return found;
}

type CallCounts = ReadonlyMap<ToolCallId, number>;

/**
 * The number of calls by id, for each chunk of a sequence of items. Chunks never change, so a long session is
 * not searched again for each call.
 */
const knownCounts = new WeakMap<readonly ItemState[], CallCounts>();

function callCountsIn(chunk: readonly ItemState[]): CallCounts {
  const known = knownCounts.get(chunk);
  if (known !== undefined) return known;
  const counts = new Map<ToolCallId, number>();
  for (const { parts } of chunk)
    for (const { part } of parts)
      if (part?.kind === 'tool_call')
        counts.set(part.toolCallId, (counts.get(part.toolCallId) ?? 0) + 1);
  knownCounts.set(chunk, counts);
  return counts;
}

/** A call of the session, or a question of a sub-agent about one of its calls. */
export type DecidableCall = Pick<ToolCallPart, 'toolCallId' | 'name'>;

/** Returns the calls and questions that a user can decide on. The response may still stream. */
export function decidableCalls(
  state: FoldState,
  turn: TurnState | undefined,
): readonly DecidableCall[] {
  if (turn === undefined) return [];
  if (turn.stop === undefined) {
    const streamed = callsOfTurn(state, turn).map(({ part }) => part);
    return [...streamed, ...questionsOf(turn, new Set())];
  }
  const calls = unansweredCalls(state, turn);
  return [...calls, ...questionsOf(turn, new Set(calls.map(({ toolCallId }) => toolCallId)))];
}

/** Returns true if the turn has this call or question, whether it has an answer or not. */
export function hasCall(
  state: FoldState,
  turn: TurnState | undefined,
  toolCallId: ToolCallId,
): boolean {
  if (turn?.calls.get(toolCallId)?.question !== undefined) return true;
  return callsOfTurn(state, turn).some(({ part }) => part.toolCallId === toolCallId);
}

/** Returns the questions of sub-agents that these calls run, and the questions of guardrails about items. */
function questionsOf(
  { calls }: TurnState,
  open: ReadonlySet<ToolCallId>,
): readonly (DecidableCall & { readonly of: ToolCallId })[] {
  return [...calls].flatMap(([toolCallId, { question }]) =>
    question && (open.has(question.of) || question.of === toolCallId)
      ? { toolCallId, ...question }
      : [],
  );
}

/**
 * Returns the ids of the calls and questions that wait for the user or for a client. A call with a parked
 * sub-agent waits until the sub-agent's questions are answered.
 */
export function askedCalls(
  state: FoldState,
  { turn, commands }: Pick<LoopState, 'turn' | 'commands'>,
): ReadonlySet<ToolCallId> {
  const asked = new Set<ToolCallId>();
  for (const { toolCallId } of state.awaited)
    if (outputFor({ commands }, toolCallId) === undefined) asked.add(toolCallId);
  const isOpen = (id: ToolCallId) => {
    const { isAsked, answer, isRejected } = turn?.calls.get(id) ?? newCallState;
    return isAsked && answer === undefined && !isRejected;
  };
  for (const { toolCallId } of decidableCalls(state, turn)) {
    if (!isOpen(toolCallId)) continue;
    asked.add(toolCallId);
    const of = turn?.calls.get(toolCallId)?.question?.of;
    const { execution, changed } = (of && turn?.calls.get(of)) || newCallState;
    if (of !== undefined && (execution?.isParked || changed !== undefined)) asked.add(of);
  }
  return asked;
}

/** Returns the first queued output for a call that a client runs. */
export function outputFor(
  { commands }: Pick<LoopState, 'commands'>,
  id: ToolCallId,
): { readonly key: string; readonly command: OutputCommand } | undefined {
  for (const { key, command } of commands)
    if (command.type === 'tool_output' && command.toolCallId === id) return { key, command };
  return undefined;
}

/** Returns the calls without a result. Returns an empty list while the response streams. */
export function unansweredCalls(
  state: FoldState,
  turn: TurnState | undefined,
): readonly ToolCallPart[] {
  if (turn?.stop === undefined) return [];
  const { toolItemId } = turn;
  const results = toolItemId === undefined ? [] : (findItem(state, toolItemId)?.parts ?? []);
  const answered = new Set(
    results.flatMap(({ part }) => (part?.kind === 'tool_result' ? part.toolCallId : [])),
  );
  return callsOfTurn(state, turn)
    .map(({ part }) => part)
    .filter(({ toolCallId }) => !answered.has(toolCallId));
}
