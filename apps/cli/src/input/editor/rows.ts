import { cellWidth, type Grapheme, graphemes } from '../../text/cells/cell-width.ts';
import { clipCells } from '../../text/cells/clip-text.ts';
import { lineEnd, lineStart } from './cursor-stops.ts';
import type { Content, Piece } from './editor-state.ts';
import { foldLabel } from './folded-text.ts';

/** A row of the screen. */
export interface Row {
  readonly start: number;
  readonly end: number;
  readonly atoms: readonly Atom[];
  /** It ends because there is no more room, and its end is where the next row starts. */
  readonly isWrapped: boolean;
}

/** The rows of the line from `start` to `end`, at least one. One cell of the width is left for a cursor at the end. */
export function rowsOfLine(
  piece: Piece,
  start: number,
  end: number,
  width: number,
): readonly Row[] {
  const room = Math.max(1, width - 1);
  const atoms = atomsOf(piece, start, end).map((atom) => fitted(atom, room));
  const rows: Row[] = [];
  let from = 0;
  while (from < atoms.length || rows.length === 0) {
    const to = rowEnd(atoms, from, room);
    rows.push(rowOf(atoms.slice(from, to), to < atoms.length, start));
    from = to;
  }
  return rows;
}

/** The label of a fold may be wider than a narrow screen. */
function fitted(atom: Atom, room: number): Atom {
  if (atom.width <= room) return atom;
  const shown = clipCells(atom.shown, room);
  return { ...atom, shown, width: cellWidth(shown) };
}

function rowOf(atoms: readonly Atom[], isWrapped: boolean, start: number): Row {
  const first = atoms[0]?.start ?? start;
  return { start: first, end: atoms.at(-1)?.end ?? first, atoms, isWrapped };
}

/** Where the row ends that begins at an atom: behind the last place to break, or where it is full. */
function rowEnd(atoms: readonly Atom[], from: number, room: number): number {
  let used = 0;
  let lastBreak = from;
  for (let index = from; index < atoms.length; index++) {
    const atom = atoms[index];
    if (atom === undefined) return index;
    used += atom.width;
    if (used > room && index > from) {
      // The space between this row and the next fits into the cell for the cursor.
      if (atom.shown === ' ' && used === room + 1 && index + 1 < atoms.length) return index + 1;
      const canBreakHere = atom.shown.startsWith(' ') || isBreak(atoms[index - 1], atom);
      return canBreakHere || lastBreak === from ? index : lastBreak;
    }
    if (index > from && isBreak(atoms[index - 1], atom)) lastBreak = index;
  }
  return atoms.length;
}

/** Between words, and around what is wide: languages with wide characters break anywhere. */
function isBreak(before: Atom | undefined, after: Atom): boolean {
  if (before === undefined || after.shown === ' ') return false;
  return before.shown.endsWith(' ') || before.isFold || before.width === 2 || after.width === 2;
}

/** Where the cursor is among the rows of its line. */
export function cursorRow(rows: readonly Row[], cursor: number): number {
  return Math.max(
    rows.findLastIndex(({ start }) => start <= cursor),
    0,
  );
}

/** In cells from the row's start. */
export function columnOf({ atoms }: Row, cursor: number): number {
  let column = 0;
  for (const atom of atoms) if (atom.end <= cursor) column += atom.width;
  return column;
}

/** The place in a row that is nearest to a column, from the left. */
export function offsetAt({ atoms, end, isWrapped }: Row, column: number): number {
  let left = 0;
  for (const atom of atoms) {
    left += atom.width;
    if (left > column) return atom.start;
  }
  // The end of a wrapped row is the start of the next.
  return isWrapped ? (atoms.at(-1)?.start ?? end) : end;
}

/** The rows of the line that an offset is in. */
export function rowsAt(piece: Piece, offset: number, width: number): readonly Row[] {
  return rowsOfLine(piece, lineStart(piece, offset), lineEnd(piece, offset), width);
}

/** The rows of the lines before or after, the nearest line alone; nothing where there is none. */
export function rowsBeside(
  content: Content,
  direction: 'up' | 'down',
  from: number,
  width: number,
): readonly Row[] | undefined {
  const edge = direction === 'up' ? lineStart(content, from) - 1 : lineEnd(content, from) + 1;
  return edge < 0 || edge > content.text.length ? undefined : rowsAt(content, edge, width);
}

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
function atomsOf(piece: Piece, start: number, end: number): readonly Atom[] {
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
