import { type ArrayChange, diffArrays } from 'diff';

/** The difference of two texts. */
export interface UnifiedDiff {
  readonly text: string;
  readonly added: number;
  readonly removed: number;
  /** True if the text has only the first lines of the diff. */
  readonly isCut: boolean;
}

const contextLines = 3;

/**
 * Returns the difference of two texts in the format of `diff -u`, without file names and with at
 * most `maxLines` lines.
 */
export function unifiedDiff(before: string, after: string, maxLines: number): UnifiedDiff {
  const [a, b] = [linesOf(before), linesOf(after)];
  const changes = lineChanges(a, b);
  const lines = hunksOf(changes).flatMap((hunk) => hunkLines(hunk, a, b));
  const rest = lines.length - maxLines;
  const shown = rest > 0 ? [...lines.slice(0, maxLines), `… (${rest} more lines of diff)`] : lines;
  return {
    text: shown.join('\n'),
    isCut: rest > 0,
    added: changes.reduce((sum, { newFrom, newTo }) => sum + newTo - newFrom, 0),
    removed: changes.reduce((sum, { from, to }) => sum + to - from, 0),
  };
}

/**
 * Splits a text into lines. A last line without a line break gets a marker, because it differs from the same
 * line with a line break.
 */
function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  return last === '' ? lines : [...lines, `${last}\n\\ No newline at end of file`];
}

/** Groups changes into hunks. Changes whose context lines touch share a hunk. */
function hunksOf(changes: readonly LineChange[]): readonly (readonly LineChange[])[] {
  const hunks: LineChange[][] = [];
  for (const change of changes) {
    const hunk = hunks.at(-1);
    const before = hunk?.at(-1);
    const isNear = before !== undefined && change.from - before.to <= 2 * contextLines;
    if (hunk !== undefined && isNear) hunk.push(change);
    else hunks.push([change]);
  }
  return hunks;
}

function hunkLines(
  hunk: readonly LineChange[],
  a: readonly string[],
  b: readonly string[],
): readonly string[] {
  const lines: string[] = [];
  const [first, last] = [hunk[0], hunk.at(-1)];
  if (first === undefined || last === undefined) return [];
  const start = Math.max(0, first.from - contextLines);
  const end = Math.min(a.length, last.to + contextLines);
  let at = start;
  for (const { from, to, newFrom, newTo } of hunk) {
    for (const line of a.slice(at, from)) lines.push(` ${line}`);
    for (const line of a.slice(from, to)) lines.push(`-${line}`);
    for (const line of b.slice(newFrom, newTo)) lines.push(`+${line}`);
    at = to;
  }
  for (const line of a.slice(at, end)) lines.push(` ${line}`);
  const newStart = first.newFrom - (first.from - start);
  const newEnd = last.newTo + (end - last.to);
  return [`@@ -${hunkRange(start, end)} +${hunkRange(newStart, newEnd)} @@`, ...lines];
}

/**
 * Returns a range with line numbers that start at 1. An empty range gets the number of the line before it.
 */
function hunkRange(from: number, to: number): string {
  return to === from ? `${from},0` : `${from + 1},${to - from}`;
}

/**
 * One change: the lines `from` to `to` of the old text become the lines `newFrom` to `newTo` of the new text.
 * The end indexes are exclusive.
 */
interface LineChange {
  readonly from: number;
  readonly to: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/**
 * Maximum number of added and removed lines in the search for the shortest diff. The time of the search is
 * quadratic in this number.
 */
const maxEditLength = 500;

/** Returns the changes between two lists of lines, in order. */
function lineChanges(a: readonly string[], b: readonly string[]): readonly LineChange[] {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [oldMiddle, newMiddle] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  if (oldMiddle.length === 0 && newMiddle.length === 0) return [];
  const whole = { from: head, to: a.length - tail, newFrom: head, newTo: b.length - tail };
  const parts = diffArrays(oldMiddle, newMiddle, { maxEditLength });
  return parts === undefined ? [whole] : changesOf(parts, head);
}

/** Joins adjacent removals and additions into changes. */
function changesOf(parts: readonly ArrayChange<string>[], start: number): readonly LineChange[] {
  const changes: LineChange[] = [];
  let [line, newLine] = [start, start];
  for (const { count, added, removed } of parts) {
    const [from, newFrom] = [line, newLine];
    if (!added) line += count;
    if (!removed) newLine += count;
    if (!added && !removed) continue;
    const last = changes.at(-1);
    if (last !== undefined && last.to === from && last.newTo === newFrom)
      changes[changes.length - 1] = { ...last, to: line, newTo: newLine };
    else changes.push({ from, to: line, newFrom, newTo: newLine });
  }
  return changes;
}
