import type { Change, EditorState } from './editor-state.ts';

const maxSteps = 200;
/** Of all that the steps keep, in UTF-16 code units. */
const maxKept = 2 ** 24;

/** The steps with one more, which goes on with the last one where it can and `isRun` says that it may. */
export function pushChange(
  steps: readonly Change[],
  change: Change,
  isRun: boolean,
): readonly Change[] {
  const last = steps.at(-1);
  const joined = isRun && last !== undefined ? join(last, change) : undefined;
  if (joined !== undefined) return [...steps.slice(0, -1), joined];
  return bounded([...steps, change]);
}

function join(last: Change, next: Change): Change | undefined {
  const ends = { before: last.before, after: next.after };
  if (next.removed === '' && next.at === last.at + last.inserted.length) {
    // A word is a step: what follows a space begins the next.
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

function bounded(steps: readonly Change[]): readonly Change[] {
  let kept = 0;
  const tooMuch = steps.findLastIndex(({ removed, inserted }, index) => {
    kept += removed.length + inserted.length;
    return kept > maxKept || steps.length - index > maxSteps;
  });
  // The newest step is kept in any case.
  return steps.slice(Math.min(tooMuch + 1, steps.length - 1));
}

export function undo(state: EditorState): EditorState {
  const change = state.undo.at(-1);
  if (change === undefined) return state;
  const { at, removed, inserted, before } = change;
  const text = spliced(state.text, at, inserted.length, removed);
  const undo = state.undo.slice(0, -1);
  return { ...state, ...before, text, undo, redo: [...state.redo, change] };
}

export function redo(state: EditorState): EditorState {
  const change = state.redo.at(-1);
  if (change === undefined) return state;
  const { at, removed, inserted, after } = change;
  const text = spliced(state.text, at, removed.length, inserted);
  const redo = state.redo.slice(0, -1);
  return { ...state, ...after, text, undo: [...state.undo, change], redo };
}

function spliced(text: string, at: number, length: number, inserted: string): string {
  return text.slice(0, at) + inserted + text.slice(at + length);
}
