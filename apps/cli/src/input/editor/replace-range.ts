import { snapForward } from './cursor-stops.ts';
import {
  type Change,
  type EditGroup,
  type EditorState,
  maxTextLength,
  type SourcedText,
} from './editor-state.ts';
import { joinTexts, sliceText } from './folded-text.ts';

/**
 * Replaces a range with a text, as one undo step. The cursor is then at the end of the new text.
 */
export function replaceRange(
  state: EditorState,
  [start, end]: readonly [number, number],
  inserted: SourcedText,
  editGroup?: EditGroup,
): EditorState {
  if (start === end && inserted.text === '') return state;
  const length = state.text.length - (end - start) + inserted.text.length;
  if (length > maxTextLength) return { ...state, notice: tooLongNotice() };
  const rest = sliceText(state, end, state.text.length);
  const next = joinTexts(joinTexts(sliceText(state, 0, start), inserted), rest);
  const cursor = snapForward(next, start + inserted.text.length);
  const typed = typedAfter(state, [start, end], inserted);
  const change: Change = {
    at: start,
    removed: state.text.slice(start, end),
    inserted: inserted.text,
    before: positionOf(state),
    after: { cursor, folds: next.folds, typed },
  };
  const undo = pushChange(
    state.undo,
    change,
    editGroup !== undefined && editGroup === state.editGroup,
  );
  return { ...state, ...next, cursor, typed, undo, redo: [], editGroup };
}

/** Returns how many characters at the start of the text the user typed, after a range was replaced. */
function typedAfter(
  { typed }: EditorState,
  [start, end]: readonly [number, number],
  inserted: SourcedText,
): number {
  if (start > typed) return typed;
  const { length } = inserted.text;
  if (inserted.typed < length) return start + inserted.typed;
  return start + length + Math.max(0, typed - end);
}

function positionOf({ cursor, folds, typed }: EditorState): Change['before'] {
  return { cursor, folds, typed };
}

function tooLongNotice(): string {
  return `Too long for the prompt: at most ${maxTextLength.toLocaleString('en')} characters. Put the text into a file and mention it with @.`;
}

const maxSteps = 200;
/** Maximum length of the texts of all undo steps together, in UTF-16 code units. */
const maxKeptLength = 2 ** 24;

/** Adds an undo step. If `isRun` is true, the step is joined with the last step if possible. */
function pushChange(steps: readonly Change[], change: Change, isRun: boolean): readonly Change[] {
  const last = steps.at(-1);
  const joined = isRun && last !== undefined ? joinChanges(last, change) : undefined;
  if (joined !== undefined) return [...steps.slice(0, -1), joined];
  return limitSteps([...steps, change]);
}

function joinChanges(last: Change, next: Change): Change | undefined {
  const ends = { before: last.before, after: next.after };
  if (next.removed === '' && next.at === last.at + last.inserted.length) {
    // Each word is one undo step, so text after a space starts the next step.
    if (/\s$/.test(last.inserted) && !/^\s/.test(next.inserted)) return undefined;
    const inserted = last.inserted + next.inserted;
    return { ...ends, at: last.at, removed: last.removed, inserted };
  }
  if (last.inserted !== '' || next.inserted !== '') return undefined;
  if (next.at + next.removed.length === last.at)
    return { ...ends, at: next.at, removed: next.removed + last.removed, inserted: '' };
  if (next.at === last.at)
    return { ...ends, at: last.at, removed: last.removed + next.removed, inserted: '' };
  return undefined;
}

function limitSteps(steps: readonly Change[]): readonly Change[] {
  let kept = 0;
  const tooMuch = steps.findLastIndex(({ removed, inserted }, index) => {
    kept += removed.length + inserted.length;
    return kept > maxKeptLength || steps.length - index > maxSteps;
  });
  // The newest step is always kept.
  return steps.slice(Math.min(tooMuch + 1, steps.length - 1));
}

export function undo(state: EditorState): EditorState {
  const change = state.undo.at(-1);
  if (change === undefined) return state;
  const { at, removed, inserted, before } = change;
  const text = splice(state.text, at, inserted.length, removed);
  const undo = state.undo.slice(0, -1);
  return { ...state, ...before, text, undo, redo: [...state.redo, change] };
}

export function redo(state: EditorState): EditorState {
  const change = state.redo.at(-1);
  if (change === undefined) return state;
  const { at, removed, inserted, after } = change;
  const text = splice(state.text, at, removed.length, inserted);
  const redo = state.redo.slice(0, -1);
  return { ...state, ...after, text, undo: [...state.undo, change], redo };
}

function splice(text: string, at: number, length: number, inserted: string): string {
  return text.slice(0, at) + inserted + text.slice(at + length);
}
