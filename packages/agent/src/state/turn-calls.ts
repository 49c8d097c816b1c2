import { type FoldState, findItem, type PartId, type ToolCallPart } from '@millrace/core';
import type { TurnState } from '../contract/loop-state.ts';

interface PlacedCall {
  readonly id: PartId;
  readonly part: ToolCallPart;
}

/** The calls of a turn's response so far, in order. */
export function callsOf(state: FoldState, turn: TurnState | undefined): readonly PlacedCall[] {
  const slots = turn?.itemId === undefined ? [] : (findItem(state, turn.itemId)?.parts ?? []);
  return slots.flatMap(({ id, part }) => (part?.kind === 'tool_call' ? [{ id, part }] : []));
}

/** Those that can be decided on: also while the model still speaks. */
export function openCalls(state: FoldState, turn: TurnState | undefined): readonly ToolCallPart[] {
  if (turn?.stop !== undefined) return unansweredCalls(state, turn);
  return callsOf(state, turn).map(({ part }) => part);
}

/** Those that have no result yet, of a response that has ended. */
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
  return callsOf(state, turn)
    .map(({ part }) => part)
    .filter(({ toolCallId }) => !answered.has(toolCallId));
}
