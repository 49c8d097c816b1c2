import { type FoldState, findItem, type PartId, type ToolCallPart } from '@millrace/core';
import type { TurnState } from '../contract/loop-state.ts';

interface TurnCall {
  readonly id: PartId;
  readonly part: ToolCallPart;
}

/** The calls of a turn's response so far, in order. */
export function callsOfTurn(state: FoldState, turn: TurnState | undefined): readonly TurnCall[] {
  const slots = turn?.itemId === undefined ? [] : (findItem(state, turn.itemId)?.parts ?? []);
  return slots.flatMap(({ id, part }) => (part?.kind === 'tool_call' ? [{ id, part }] : []));
}

/** The calls that can be decided on, also while the response streams. */
export function decidableCalls(
  state: FoldState,
  turn: TurnState | undefined,
): readonly ToolCallPart[] {
  if (turn?.stop !== undefined) return unansweredCalls(state, turn);
  return callsOfTurn(state, turn).map(({ part }) => part);
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
