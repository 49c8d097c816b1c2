import { addEntry, entryOf, isRecorded } from '../history/history-entry.ts';
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
  emptyText,
  type HistoryEntry,
  type SourcedText,
  type Target,
} from './editor-state.ts';
import { joinTexts, pastedText, plainText, sliceText } from './folded-text.ts';
import { redo, replaceRange, undo } from './replace-range.ts';
import { columnOf, cursorRow, offsetAt, type Row, rowsAt, rowsBeside } from './rows.ts';

/**
 * Returns the editor state after an action. The function is pure. An impossible action has no
 * effect.
 */
export function edit(state: EditorState, action: EditAction): EditorState {
  return editFrom(state, action, true);
}

/**
 * Applies an action like `edit`. `isOwn` is false if the action may come from a paste that the terminal did not mark.
 * The user then typed only the start of the text that does not change. If a paste changes the name of a command that
 * the user typed, nothing of the text counts as typed.
 */
export function editFrom(state: EditorState, action: EditAction, isOwn: boolean): EditorState {
  const next = withDrop(afterAction(state, action, isOwn), action);
  if ((isOwn && action.type !== 'paste') || next.text === state.text) return next;
  const kept = commonLength(state.text, next.text);
  const [name = ''] = commandName.exec(state.text.slice(0, state.typed)) ?? [];
  return { ...next, typed: kept < name.length ? 0 : Math.min(next.typed, kept) };
}

/** Maximum number of drops that the prompt remembers, and maximum length of one. */
const maxDrops = 20;
const maxDropLength = 1000;

/** Remembers a text that arrived as a whole, if it has one line, so that the user can see all of it. */
function withDrop(state: EditorState, action: EditAction): EditorState {
  const isDrop = (action.type === 'insert' || action.type === 'paste') && action.isWhole === true;
  if (!isDrop || action.text.length > maxDropLength) return state;
  const text = plainText(action.text).trim();
  return text.includes('\n') ? state : { ...state, drops: [...state.drops, text].slice(-maxDrops) };
}

/** Matches the name of a slash command at the start of a text, with the white space before it. */
export const commandName: RegExp = /^\s*\/\S*/;

/** Returns the length of the start that two texts have in common. */
function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

function afterAction(state: EditorState, action: EditAction, isOwn: boolean): EditorState {
  const { editGroup, goalColumn } = state;
  const now = { ...state, editGroup: undefined, goalColumn: undefined, notice: undefined };
  switch (action.type) {
    case 'insert':
      return insertAtCursor({ ...now, editGroup }, plainText(action.text), isOwn);
    case 'paste':
      return replaceRange(
        now,
        [state.cursor, state.cursor],
        insertedText(state.cursor, action.text),
      );
    case 'replace':
      return replaceText(now, clampRange(state, action), action.text, isOwn);
    case 'move':
      return { ...now, cursor: offsetOf(state, action.to) };
    case 'erase':
      return replaceRange({ ...now, editGroup }, rangeTo(state, action.to), emptyText, 'erasing');
    case 'kill':
      return kill({ ...now, editGroup }, action.to);
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
      return setText(now, plainText(action.text), action.typed);
    case 'put_back':
      return putBack(now, action.text);
    case 'sent':
      return afterSend(now);
    case 'history':
      return withHistory(now, action.entries);
  }
}

function insertAtCursor(state: EditorState, text: string, isOwn: boolean): EditorState {
  const inserted = { text, folds: [], typed: isOwn ? text.length : 0 };
  return replaceRange(state, [state.cursor, state.cursor], inserted, 'typing');
}

/** Replaces a range. If the user did not type the start of a word, its completion is not typed either. */
function replaceText(
  state: EditorState,
  [start, end]: readonly [number, number],
  given: string,
  isOwn: boolean,
): EditorState {
  const text = plainText(given);
  const isTyped = isOwn && (start === end || start < state.typed);
  return replaceRange(state, [start, end], { text, folds: [], typed: isTyped ? text.length : 0 });
}

function setText(state: EditorState, text: string, typed?: number): EditorState {
  const { length } = state.text;
  const kept = Math.min(state.typed, commonLength(state.text, text));
  const edited = state.typed === length ? text.length : kept;
  return replaceRange(state, [0, length], { text, folds: [], typed: typed ?? edited });
}

function putBack(state: EditorState, text: string): EditorState {
  const gap = state.text === '' ? '' : '\n';
  const before = replaceRange(state, [0, 0], insertedText(0, `${text}${gap}`));
  return { ...before, cursor: before.text.length };
}

/**
 * Returns a text that another person may have written. A prompt that starts with `!` is a command,
 * which runs without a question because the user typed it. So such a text gets a space at its
 * start.
 */
function insertedText(at: number, text: string): SourcedText {
  const plain = plainText(text);
  return { ...pastedText(at === 0 && plain.startsWith('!') ? ` ${plain}` : plain), typed: 0 };
}

function clampRange(
  { text }: EditorState,
  { start, end }: { readonly start: number; readonly end: number },
): readonly [number, number] {
  const from = Math.max(0, Math.min(start, text.length));
  return [from, Math.max(from, Math.min(end, text.length))];
}

/** Returns the range between the cursor and a target, with the lower offset first. */
function rangeTo(state: EditorState, name: Target): readonly [number, number] {
  const there = offsetOf(state, name);
  return [Math.min(there, state.cursor), Math.max(there, state.cursor)];
}

function offsetOf(state: EditorState, name: Target): number {
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

/**
 * Returns the range that a kill removes. At the end of a line, the range is the following newline.
 * At the start of a line, it is the previous newline.
 */
function killRange(state: EditorState, name: Target): readonly [number, number] {
  const [start, end] = rangeTo(state, name);
  if (start < end) return [start, end];
  if (name === 'line_start') return [stepBack(state, start), end];
  return name === 'line_end' ? [start, stepForward(state, end)] : [start, end];
}

function kill(state: EditorState, name: Target): EditorState {
  const [start, end] = killRange(state, name);
  if (start === end) return state;
  const length = end - start;
  const typed = Math.max(0, Math.min(state.typed - start, length));
  const cut = { ...sliceText(state, start, end), typed };
  const isBackward = start < state.cursor;
  const earlier = state.editGroup === 'killing' ? state.killed : emptyText;
  const all = isBackward ? joinSourced(cut, earlier) : joinSourced(earlier, cut);
  return { ...replaceRange(state, [start, end], emptyText, 'killing'), killed: all };
}

function joinSourced(first: SourcedText, second: SourcedText): SourcedText {
  const isFirstTyped = first.typed === first.text.length;
  const typed = first.typed + (isFirstTyped ? second.typed : 0);
  return { ...joinTexts(first, second), typed };
}

function afterSend(state: EditorState): EditorState {
  const { text, history, killed } = state;
  if (!isRecorded(text)) return { ...createEditor(history), killed };
  return { ...createEditor(addEntry(history, entryOf(state))), killed };
}

function withHistory(state: EditorState, entries: readonly HistoryEntry[]): EditorState {
  const draft = state.drafts.get(state.history.length);
  const content = state.historyIndex === state.history.length ? state : (draft ?? state);
  const { drops, killed } = state;
  return { ...createEditor(entries), drops, killed, ...draftOf(content) };
}

/**
 * Moves the cursor one row up or down. From the first or the last row, it moves to the previous or
 * next history entry.
 */
function moveVertically(
  state: EditorState,
  direction: 'up' | 'down',
  width: number = Number.POSITIVE_INFINITY,
): EditorState {
  const rows = rowsAt(state, state.cursor, width);
  const here = cursorRow(rows, state.cursor);
  const target = nextRow(state, rows, here, direction, width);
  if (target === undefined)
    return showHistoryEntry(state, state.historyIndex + (direction === 'up' ? -1 : 1));
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

/** Shows a different history entry. The current text and its undo steps are kept. */
function showHistoryEntry(state: EditorState, index: number): EditorState {
  const next = state.drafts.get(index) ?? draftOfEntry(state, index);
  if (next === undefined) return state;
  const drafts = new Map(state.drafts).set(state.historyIndex, draftOf(state));
  const drops = [...new Set([...state.drops, ...(state.history[index]?.drops ?? [])])];
  return { ...state, ...next, drops, historyIndex: index, drafts, goalColumn: undefined };
}

function draftOf({ text, cursor, folds, typed, undo, redo }: Draft): Draft {
  return { text, cursor, folds, typed, undo, redo };
}

function draftOfEntry({ history }: EditorState, index: number): Draft | undefined {
  const entry = history[index];
  if (entry === undefined) return undefined;
  const { text, folds = [], typed = text.length } = entry;
  return { text, cursor: text.length, folds, typed, undo: [], redo: [] };
}
