import { type Grapheme, graphemes } from '../text/cells/cell-width.ts';
import type { Piece } from './editor-state.ts';
import { foldLabel } from './folds.ts';

/** What the cursor passes in one step, as it is shown. */
export interface Atom {
  readonly start: number;
  readonly end: number;
  readonly shown: string;
  /** In cells; at least one, so that a cursor can be on it. */
  readonly width: number;
  readonly isFold: boolean;
}

const shownTab = '    ';
/** For what a terminal shows nothing of, so that nothing hides in a prompt. */
const shownUnseen = '\ufffd';

/** The graphemes and folds of a part of a line. */
export function atomsOf(piece: Piece, start: number, end: number): readonly Atom[] {
  const atoms: Atom[] = [];
  let at = start;
  for (const fold of piece.folds) {
    if (fold.start < start || fold.end > end) continue;
    addGraphemes(piece.text, at, fold.start, atoms);
    const shown = foldLabel(fold);
    atoms.push({ start: fold.start, end: fold.end, shown, width: shown.length, isFold: true });
    at = fold.end;
  }
  addGraphemes(piece.text, at, end, atoms);
  return atoms;
}

function addGraphemes(text: string, start: number, end: number, atoms: Atom[]): void {
  const part = text.slice(start, end);
  // Most lines are plain, and need neither a segmenter nor tables.
  if (/^[ -~]*$/.test(part)) {
    for (let at = start; at < end; at++)
      atoms.push({ start: at, end: at + 1, shown: text.charAt(at), width: 1, isFold: false });
    return;
  }
  let from = start;
  for (const grapheme of graphemes(part)) {
    const end = from + grapheme.text.length;
    atoms.push({ start: from, end, ...shownAs(grapheme), isFold: false });
    from = end;
  }
}

function shownAs({ text, width }: Grapheme): Pick<Atom, 'shown' | 'width'> {
  if (text === '\t') return { shown: shownTab, width: shownTab.length };
  return width > 0 ? { shown: text, width } : { shown: shownUnseen, width: 1 };
}
