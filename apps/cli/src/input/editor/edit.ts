import { isKept, withEntry } from '../history/history-entry.ts';
import {
  lineEnd,
  lineStart,
  stepBack,
  stepForward,
  wordAfter,
  wordBefore,
} from './cursor-stops.ts';
import {
  createEditor,
  type Draft,
  type EditAction,
  type EditorState,
  emptyPiece,
  type HistoryEntry,
  type Target,
} from './editor-state.ts';
import { joinPieces, pastedPiece, plainText, slicePiece } from './folded-text.ts';
import { redo, replaceRange, undo } from './replace-range.ts';
import { columnOf, cursorRow, offsetAt, type Row, rowsAt, rowsBeside } from './rows.ts';

/** The editor after an action. Pure, and total: an action that cannot be done changes nothing. */
export function edit(state: EditorState, action: EditAction): EditorState {
  const { run, goalColumn } = state;
  const now = { ...state, run: undefined, goalColumn: undefined, notice: undefined };
  switch (action.type) {
    case 'insert':
      return put({ ...now, run }, plainText(action.text), 'typing');
    case 'paste':
      return replaceRange(now, [state.cursor, state.cursor], pastedPiece(plainText(action.text)));
    case 'replace':
      return replaceRange(now, rangeOf(state, action), unfolded(action.text));
    case 'move':
      return { ...now, cursor: target(state, action.to) };
    case 'erase':
      return replaceRange({ ...now, run }, to(state, action.to), emptyPiece, 'erasing');
    case 'kill':
      return kill({ ...now, run }, action.to);
    case 'yank':
      return replaceRange(now, [state.cursor, state.cursor], state.killed);
    case 'up':
    case 'down':
      return moveVertically({ ...now, goalColumn }, action.type, action.width);
    case 'undo':
      return undo(now);
    case 'redo':
      return redo(now);
    case 'set':
      return replaceRange(now, [0, state.text.length], unfolded(action.text));
    case 'put_back':
      return putBack(now, action.text);
    case 'sent':
      return sent(now);
    case 'history':
      return withHistory(now, action.entries);
  }
}

function put(state: EditorState, text: string, run: 'typing'): EditorState {
  return replaceRange(state, [state.cursor, state.cursor], { text, folds: [] }, run);
}

function putBack(state: EditorState, text: string): EditorState {
  const gap = state.text === '' ? '' : '\n';
  const before = replaceRange(state, [0, 0], pastedPiece(plainText(text) + gap));
  return { ...before, cursor: before.text.length };
}

function unfolded(text: string) {
  return { text: plainText(text), folds: [] };
}

function rangeOf(
  { text }: EditorState,
  { start, end }: { readonly start: number; readonly end: number },
): readonly [number, number] {
  const from = Math.max(0, Math.min(start, text.length));
  return [from, Math.max(from, Math.min(end, text.length))];
}

/** From the cursor to the target, in order. */
function to(state: EditorState, name: Target): readonly [number, number] {
  const there = target(state, name);
  return [Math.min(there, state.cursor), Math.max(there, state.cursor)];
}

function target(state: EditorState, name: Target): number {
  const { cursor } = state;
  switch (name) {
    case 'left':
      return stepBack(state, cursor);
    case 'right':
      return stepForward(state, cursor);
    case 'word_left':
      return wordBefore(state, cursor);
    case 'word_right':
      return wordAfter(state, cursor);
    case 'line_start':
      return lineStart(state, cursor);
    case 'line_end':
      return lineEnd(state, cursor);
    case 'text_start':
      return 0;
    case 'text_end':
      return state.text.length;
  }
}

/** At the end of a line there is its newline to kill, and at its start that of the line before. */
function killed(state: EditorState, name: Target): readonly [number, number] {
  const [start, end] = to(state, name);
  if (start < end) return [start, end];
  if (name === 'line_start') return [stepBack(state, start), end];
  return name === 'line_end' ? [start, stepForward(state, end)] : [start, end];
}

function kill(state: EditorState, name: Target): EditorState {
  const [start, end] = killed(state, name);
  if (start === end) return state;
  const piece = slicePiece(state, start, end);
  const isBackward = start < state.cursor;
  const earlier = state.run === 'killing' ? state.killed : emptyPiece;
  const all = isBackward ? joinPieces(piece, earlier) : joinPieces(earlier, piece);
  return { ...replaceRange(state, [start, end], emptyPiece, 'killing'), killed: all };
}

function sent(state: EditorState): EditorState {
  const { text, folds, history, killed } = state;
  const entry: HistoryEntry = folds.length > 0 ? { text, folds } : { text };
  if (!isKept(text)) return { ...createEditor(history), killed };
  return { ...createEditor(withEntry(history, entry)), killed };
}

function withHistory(state: EditorState, entries: readonly HistoryEntry[]): EditorState {
  const draft = state.drafts.get(state.history.length);
  const content = state.place === state.history.length ? state : (draft ?? state);
  const { text, cursor, folds, undo, redo } = content;
  return { ...createEditor(entries), killed: state.killed, text, cursor, folds, undo, redo };
}

/** A row up or down; beyond the first and the last row, to what is next in the history. */
function moveVertically(
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
