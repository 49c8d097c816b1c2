import type { DiffLine } from './diff.ts';

/**
 * A row of a side-by-side diff: a note across both sides, or a line before and a line after the
 * change.
 */
export type SideRow =
  | { readonly type: 'note'; readonly line: DiffLine }
  | {
      readonly type: 'pair';
      readonly before: DiffLine | undefined;
      readonly after: DiffLine | undefined;
    };

/**
 * Converts a unified diff to rows with two sides. Removed lines are to the left of the added lines
 * that follow them.
 */
export function sideRows(lines: readonly DiffLine[]): readonly SideRow[] {
  const rows: SideRow[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = () => {
    const count = Math.max(removed.length, added.length);
    for (let at = 0; at < count; at++)
      rows.push({ type: 'pair', before: removed[at], after: added[at] });
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === 'removed') {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.kind === 'added') added.push(line);
    else {
      flush();
      const isNote = line.kind === 'hunk' || line.kind === 'file';
      rows.push(isNote ? { type: 'note', line } : { type: 'pair', before: line, after: line });
    }
  }
  flush();
  return rows;
}

/** A piece of a changed line. */
export interface WordPiece {
  readonly text: string;
  /** True if this piece occurs only in one of the two compared lines. */
  readonly isChanged: boolean;
}

/** Maximum length of a line for the comparison by words. Longer lines are not compared. */
const maxLength = 2000;
const maxComparisons = 40_000;

/**
 * Compares two lines word by word. Returns undefined if the lines have too little in common,
 * because almost every word would be marked.
 */
export function wordChanges(
  before: string,
  after: string,
): { readonly before: readonly WordPiece[]; readonly after: readonly WordPiece[] } | undefined {
  if (before.length > maxLength || after.length > maxLength) return undefined;
  const [left, right] = [wordsOf(before), wordsOf(after)];
  const common = commonWords(left, right);
  if (common === undefined) return undefined;
  const shared = common.reduce((sum, [at]) => sum + (left[at]?.trim().length ?? 0), 0);
  const isSimilar = shared * 3 >= Math.min(before.trim().length, after.trim().length);
  if (!isSimilar) return undefined;
  return {
    before: pieces(left, new Set(common.map(([at]) => at))),
    after: pieces(right, new Set(common.map(([, at]) => at))),
  };
}

/** Returns the marked words of each removed line and of the added line to its right. */
export function changedWords(
  lines: readonly DiffLine[],
): ReadonlyMap<DiffLine, readonly WordPiece[]> {
  const words = new Map<DiffLine, readonly WordPiece[]>();
  for (const row of sideRows(lines)) {
    if (row.type === 'note' || row.before === undefined || row.after === undefined) continue;
    if (row.before === row.after) continue;
    const changes = wordChanges(row.before.text, row.after.text);
    if (changes === undefined) continue;
    words.set(row.before, changes.before);
    words.set(row.after, changes.after);
  }
  return words;
}

function wordsOf(line: string): readonly string[] {
  return (
    line.match(
      /[\p{L}\p{N}\p{M}\p{Emoji_Modifier}_]+|\s+|[^\p{L}\p{N}\p{M}\p{Emoji_Modifier}_\s]/gu,
    ) ?? []
  );
}

type Match = readonly [before: number, after: number];

/**
 * Returns the positions of the longest common subsequence of words. Returns undefined if there are
 * too many words to compare.
 */
function commonWords(
  left: readonly string[],
  right: readonly string[],
): readonly Match[] | undefined {
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let end = 0;
  const room = Math.min(left.length, right.length) - start;
  while (end < room && left[left.length - 1 - end] === right[right.length - 1 - end]) end++;
  const [rows, columns] = [left.length - start - end, right.length - start - end];
  if (rows * columns > maxComparisons) return undefined;
  const width = columns + 1;
  const lengths = new Uint16Array((rows + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row--)
    for (let column = columns - 1; column >= 0; column--)
      lengths[row * width + column] =
        left[start + row] === right[start + column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const found: Match[] = [];
  for (let index = 0; index < start; index++) found.push([index, index]);
  for (let row = 0, column = 0; row < rows && column < columns; ) {
    if (left[start + row] === right[start + column]) found.push([start + row++, start + column++]);
    else if (at(row + 1, column) >= at(row, column + 1)) row++;
    else column++;
  }
  for (let index = end; index > 0; index--) found.push([left.length - index, right.length - index]);
  return found;
}

/** Joins consecutive words into one piece if all of them are changed, or if all are unchanged. */
function pieces(words: readonly string[], common: ReadonlySet<number>): readonly WordPiece[] {
  const out: WordPiece[] = [];
  for (const [index, text] of words.entries()) {
    const isChanged = !common.has(index);
    const last = out.at(-1);
    if (last?.isChanged === isChanged) out[out.length - 1] = { text: last.text + text, isChanged };
    else out.push({ text, isChanged });
  }
  return out;
}
