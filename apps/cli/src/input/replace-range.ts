import type { Change, Content, EditorState, Piece, Run } from './editor-state.ts';
import { joinPieces, slicePiece } from './folds.ts';
import { snapForward } from './graphemes.ts';
import { pushChange } from './undo.ts';

/** In UTF-16 code units: more than any model takes. */
export const maxTextLength: number = 2 ** 22;

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
