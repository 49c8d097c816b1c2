import { cellWidth, type Grapheme, graphemes } from '../../text/cells/cell-width.ts';
import { clipCells } from '../../text/cells/clip-text.ts';
import { lineEnd, lineStart } from './cursor-stops.ts';
import type { Content, FoldedText } from './editor-state.ts';
import { foldLabel } from './folded-text.ts';

/** A row of the screen. */
export interface Row {
  readonly start: number;
  readonly end: number;
  readonly atoms: readonly Atom[];
  /**
   * True if the row ends because it is full. In this case, its end is also the start of the next
   * row.
   */
  readonly isWrapped: boolean;
}

/**
 * Returns the rows of the line from `start` to `end`. There is at least one row. One cell per row
 * stays free for a cursor at the end.
 */
export function rowsOfLine(
  content: FoldedText,
  start: number,
  end: number,
  width: number,
): readonly Row[] {
  const room = Math.max(1, width - 1);
  const atoms = atomsOf(content, start, end).map((atom) => fitAtom(atom, room));
  const rows: Row[] = [];
  let from = 0;
  while (from < atoms.length || rows.length === 0) {
    const to = rowEnd(atoms, from, room);
    rows.push(rowOf(atoms.slice(from, to), to < atoms.length, start));
    from = to;
  }
  return rows;
}

/**
 * Shortens an atom to the available width. The label of a fold can be wider than a narrow screen.
 */
function fitAtom(atom: Atom, room: number): Atom {
  if (atom.width <= room) return atom;
  const shown = clipCells(atom.shown, room);
  return { ...atom, shown, width: cellWidth(shown) };
}

function rowOf(atoms: readonly Atom[], isWrapped: boolean, start: number): Row {
  const first = atoms[0]?.start ?? start;
  return { start: first, end: atoms.at(-1)?.end ?? first, atoms, isWrapped };
}

/**
 * Returns the end of the row that starts at an atom. It is the last position at which the row may
 * break. If there is none, the row ends where it is full.
 */
function rowEnd(atoms: readonly Atom[], from: number, room: number): number {
  let used = 0;
  let lastBreak = from;
  for (let index = from; index < atoms.length; index++) {
    const atom = atoms[index];
    if (atom === undefined) return index;
    used += atom.width;
    if (used > room && index > from) {
      // A space after a full row uses the cell that is reserved for the cursor. Otherwise the next
      // row would start with this space.
      if (atom.shown === ' ' && used === room + 1 && index + 1 < atoms.length) return index + 1;
      const canBreakHere = atom.shown.startsWith(' ') || isBreak(atoms[index - 1], atom);
      return canBreakHere || lastBreak === from ? index : lastBreak;
    }
    if (index > from && isBreak(atoms[index - 1], atom)) lastBreak = index;
  }
  return atoms.length;
}

/**
 * Returns true if a row may break between two atoms. It may break between words and next to wide
 * characters. Languages with wide characters allow breaks anywhere.
 */
function isBreak(before: Atom | undefined, after: Atom): boolean {
  if (before === undefined || after.shown === ' ') return false;
  return before.shown.endsWith(' ') || before.isFold || before.width === 2 || after.width === 2;
}

/** Returns the index of the row that contains the cursor. */
export function cursorRow(rows: readonly Row[], cursor: number): number {
  return Math.max(
    rows.findLastIndex(({ start }) => start <= cursor),
    0,
  );
}

/** Returns the cursor's column in cells from the start of the row. */
export function columnOf({ atoms }: Row, cursor: number): number {
  let column = 0;
  for (const atom of atoms) if (atom.end <= cursor) column += atom.width;
  return column;
}

/**
 * Returns the offset in a row that is nearest to a column. It is never to the right of the column.
 */
export function offsetAt({ atoms, end, isWrapped }: Row, column: number): number {
  let left = 0;
  for (const atom of atoms) {
    left += atom.width;
    if (left > column) return atom.start;
  }
  // The end of a wrapped row belongs to the next row, so it is not a valid position in this row.
  return isWrapped ? (atoms.at(-1)?.start ?? end) : end;
}

/** Returns the rows of the line that contains an offset. */
export function rowsAt(content: FoldedText, offset: number, width: number): readonly Row[] {
  return rowsOfLine(content, lineStart(content, offset), lineEnd(content, offset), width);
}

/**
 * Returns the rows of the previous or the next line. Returns undefined if there is no such line.
 */
export function rowsBeside(
  content: Content,
  direction: 'up' | 'down',
  from: number,
  width: number,
): readonly Row[] | undefined {
  const edge = direction === 'up' ? lineStart(content, from) - 1 : lineEnd(content, from) + 1;
  return edge < 0 || edge > content.text.length ? undefined : rowsAt(content, edge, width);
}

/** A unit over which the cursor moves in one step: a grapheme or a fold. */
export interface Atom {
  readonly start: number;
  readonly end: number;
  readonly shown: string;
  /** The width in cells. It is at least one, so that the cursor can be visible on the atom. */
  readonly width: number;
  readonly isFold: boolean;
}

const shownTab = '    ';
/**
 * The character that the prompt shows for invisible characters. So a prompt has no hidden content.
 */
const replacementCharacter = '\ufffd';

/**
 * Returns the graphemes in a part of a line, and the folds: long pasted texts that the prompt shows as a
 * short label.
 */
function atomsOf(content: FoldedText, start: number, end: number): readonly Atom[] {
  const atoms: Atom[] = [];
  let at = start;
  for (const fold of content.folds) {
    if (fold.start < start || fold.end > end) continue;
    addGraphemes(content.text, at, fold.start, atoms);
    const shown = foldLabel(fold);
    atoms.push({ start: fold.start, end: fold.end, shown, width: shown.length, isFold: true });
    at = fold.end;
  }
  addGraphemes(content.text, at, end, atoms);
  return atoms;
}

function addGraphemes(text: string, start: number, end: number, atoms: Atom[]): void {
  const part = text.slice(start, end);
  // Most lines are ASCII. For them, a segmenter and width tables are not needed.
  if (/^[ -~]*$/.test(part)) {
    for (let at = start; at < end; at++)
      atoms.push({ start: at, end: at + 1, shown: text.charAt(at), width: 1, isFold: false });
    return;
  }
  let from = start;
  for (const grapheme of graphemes(part)) {
    const end = from + grapheme.text.length;
    atoms.push({ start: from, end, ...displayOf(grapheme), isFold: false });
    from = end;
  }
}

function displayOf({ text, width }: Grapheme): Pick<Atom, 'shown' | 'width'> {
  if (text === '\t') return { shown: shownTab, width: shownTab.length };
  return width > 0 ? { shown: text, width } : { shown: replacementCharacter, width: 1 };
}
