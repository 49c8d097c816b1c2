import {
  type FoldState,
  findItem,
  type PartId,
  type ToolCallId,
  type ToolCallPart,
} from '@millrace/core';
import type { OutputCommand } from '../contract/command.ts';
import { type LoopState, newCallState, type TurnState } from '../contract/loop-state.ts';

interface TurnCall {
  readonly id: PartId;
  readonly part: ToolCallPart;
}

/** The calls of a turn's response so far, in order. */
export function callsOfTurn(state: FoldState, turn: TurnState | undefined): readonly TurnCall[] {
  const slots = turn?.itemId === undefined ? [] : (findItem(state, turn.itemId)?.parts ?? []);
  return slots.flatMap(({ id, part }) => (part?.kind === 'tool_call' ? [{ id, part }] : []));
}

/** A call of the session, or a question of a sub-agent about a call of its own. */
export type DecidableCall = Pick<ToolCallPart, 'toolCallId' | 'name'>;

/** The calls and questions that can be decided on, also while the response streams. */
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

/** True if the turn has this call or question, answered or not. */
export function hasCall(
  state: FoldState,
  turn: TurnState | undefined,
  toolCallId: ToolCallId,
): boolean {
  if (turn?.calls.get(toolCallId)?.question !== undefined) return true;
  return callsOfTurn(state, turn).some(({ part }) => part.toolCallId === toolCallId);
}

/** The questions of the sub-agents of these calls, and those of guardrails about items. */
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
 * The calls and questions that wait for the user, and the calls whose sub-agent is parked until its
 * questions are answered, and the calls that wait for a client.
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

/** The first queued output for a call that a client runs. */
export function outputFor(
  { commands }: Pick<LoopState, 'commands'>,
  id: ToolCallId,
): { readonly key: string; readonly command: OutputCommand } | undefined {
  for (const { key, command } of commands)
    if (command.type === 'tool_output' && command.toolCallId === id) return { key, command };
  return undefined;
}

/** The calls without a result, after the response has ended. */
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
