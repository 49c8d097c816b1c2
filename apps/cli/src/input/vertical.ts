import type { Draft, EditorState } from './editor-state.ts';
import { columnOf, cursorRow, offsetAt, type Row, rowsAt, rowsBeside } from './rows.ts';

/** A row up or down; beyond the first and the last row, to what is next in the history. */
export function moveVertically(
  state: EditorState,
  direction: 'up' | 'down',
  width: number = Number.POSITIVE_INFINITY,
): EditorState {
  const rows = rowsAt(state, state.cursor, width);
  const here = cursorRow(rows, state.cursor);
  const target = nextRow(state, rows, here, direction, width);
  if (target === undefined) return recall(state, state.place + (direction === 'up' ? -1 : 1));
  const row = rows[here];
  const goalColumn = state.goalColumn ?? (row === undefined ? 0 : columnOf(row, state.cursor));
  return { ...state, cursor: offsetAt(target, goalColumn), goalColumn };
}

function nextRow(
  state: EditorState,
  rows: readonly Row[],
  here: number,
  direction: 'up' | 'down',
  width: number,
): Row | undefined {
  const inLine = rows[direction === 'up' ? here - 1 : here + 1];
  if (inLine !== undefined) return inLine;
  const beside = rowsBeside(state, direction, state.cursor, width);
  return direction === 'up' ? beside?.at(-1) : beside?.[0];
}

/** Another place of the history. What is left behind is kept with its undo, as it is. */
function recall(state: EditorState, place: number): EditorState {
  const next = state.drafts.get(place) ?? recalled(state, place);
  if (next === undefined) return state;
  const { text, cursor, folds, undo, redo } = state;
  const drafts = new Map(state.drafts).set(state.place, { text, cursor, folds, undo, redo });
  return { ...state, ...next, place, drafts, goalColumn: undefined };
}

function recalled({ history }: EditorState, place: number): Draft | undefined {
  const entry = history[place];
  if (entry === undefined) return undefined;
  const { text, folds = [] } = entry;
  return { text, cursor: text.length, folds, undo: [], redo: [] };
}
