import { snapForward } from './cursor-stops.ts';
import {
  type Change,
  type Content,
  type EditorState,
  maxTextLength,
  type Piece,
  type Run,
} from './editor-state.ts';
import { joinPieces, slicePiece } from './folded-text.ts';

/** Puts a piece where a range was, the cursor behind it, as a step of undo. */
export function replaceRange(
  state: EditorState,
  [start, end]: readonly [number, number],
  piece: Piece,
  run?: Run,
): EditorState {
  if (start === end && piece.text === '') return state;
  const length = state.text.length - (end - start) + piece.text.length;
  if (length > maxTextLength) return { ...state, notice: tooLong() };
  const rest = slicePiece(state, end, state.text.length);
  const next = joinPieces(joinPieces(slicePiece(state, 0, start), piece), rest);
  const cursor = snapForward(next, start + piece.text.length);
  const change: Change = {
    at: start,
    removed: state.text.slice(start, end),
    inserted: piece.text,
    before: placeOf(state),
    after: { cursor, folds: next.folds },
  };
  const undo = pushChange(state.undo, change, run !== undefined && run === state.run);
  return { ...state, ...next, cursor, undo, redo: [], run };
}

function placeOf({ cursor, folds }: Content): Change['before'] {
  return { cursor, folds };
}

function tooLong(): string {
  return `Too long for the prompt: at most ${maxTextLength.toLocaleString('en')} characters. Put it into a file, and name that with @.`;
}

const maxSteps = 200;
/** Of all that the steps keep, in UTF-16 code units. */
const maxKept = 2 ** 24;

/** The steps with one more, which goes on with the last one where it can and `isRun` says that it may. */
function pushChange(steps: readonly Change[], change: Change, isRun: boolean): readonly Change[] {
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
