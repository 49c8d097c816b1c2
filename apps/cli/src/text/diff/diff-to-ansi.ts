import { cellWidth } from '../cells/cell-width.ts';
import { expandTabs, printableLine } from '../cells/printable.ts';
import { type Line, paintLine, type Span } from '../cells/span.ts';
import { clipSpans, cutSpans } from '../cells/wrap-spans.ts';
import type { LongLines } from '../code/highlight.ts';
import { plain, type Style } from '../theme/style.ts';
import type { Theme } from '../theme/theme.ts';
import { type DiffRow, parseDiff } from './parse-diff.ts';

/** Minimum width for the sign and the text next to the line numbers. */
const minRoom = 8;

interface DiffOptions {
  readonly width: number;
  readonly theme: Theme;
  /**
   * Maximum number of lines. If lines are hidden, the last line tells how many. Default: no limit.
   */
  readonly maxLines?: number;
  /** Selects how lines that are too wide are shown. Default: `wrap`, which hides nothing. */
  readonly longLines?: LongLines;
}

/** Formats a unified diff with colors and line numbers. Changes within a line are highlighted. */
export function diffToAnsi(diff: string, options: DiffOptions): string {
  const { maxLines = Number.POSITIVE_INFINITY } = options;
  const rows = parseDiff(diff).map(printableRow);
  const lines: string[] = [];
  const digits = numberWidth(rows, options.width);
  for (const [index, row] of rows.entries()) {
    const next = rowLines(row, changedRange(rows, index), digits, options).map(paintLine);
    const room = maxLines - lines.length - (index < rows.length - 1 ? 1 : 0);
    if (next.length > room) {
      const kept = [...lines, ...next].slice(0, Math.max(0, maxLines - 1));
      const whole = kept.length - lines.length >= next.length ? index + 1 : index;
      return maxLines < 1 ? '' : [...kept, moreLinesNote(rows.length - whole, options)].join('\n');
    }
    for (const line of next) lines.push(line);
  }
  return lines.join('\n');
}

function printableRow(row: DiffRow): DiffRow {
  return { ...row, text: expandTabs(printableLine(row.text)) };
}

function moreLinesNote(count: number, { theme, width }: DiffOptions): string {
  const text = `${theme.symbols.cut} ${count} more ${count === 1 ? 'line' : 'lines'} of diff`;
  const muted = theme.styles.muted;
  return paintLine(clipSpans([{ text, style: muted }], width, { text: '', style: plain }));
}

/**
 * Returns the width of the line numbers. Returns 0 if too little space would remain for the text.
 */
function numberWidth(rows: readonly DiffRow[], width: number): number {
  const highest = rows.reduce((most, { number = 0 }) => Math.max(most, number), 0);
  const digits = String(highest).length;
  return highest === 0 || width < digits + minRoom ? 0 : digits;
}

/**
 * Returns the changed range of a line. Returns undefined unless one line was replaced by exactly
 * one line.
 */
function changedRange(rows: readonly DiffRow[], index: number): TextRange | undefined {
  const row = rows[index];
  if (row?.kind !== 'added' && row?.kind !== 'removed') return undefined;
  const first = row.kind === 'removed' ? index : index - 1;
  const [above, before] = [rows[first - 1], rows[first]];
  const [after, below] = [rows[first + 1], rows[first + 2]];
  const isSingle =
    before?.kind === 'removed' &&
    after?.kind === 'added' &&
    above?.kind !== 'removed' &&
    below?.kind !== 'added';
  if (!isSingle) return undefined;
  const change = findLineChange(before.text, after.text);
  return row.kind === 'removed' ? change?.before : change?.after;
}

function rowLines(
  row: DiffRow,
  part: TextRange | undefined,
  digits: number,
  { width, theme, longLines = 'wrap' }: DiffOptions,
): readonly Line[] {
  const before = gutterOf(row, digits, theme);
  const used = before.reduce((sum, { text }) => sum + text.length, 0);
  const muted = theme.styles.muted;
  const line = textOf(row, part, theme);
  const again = { text: `${theme.symbols.wrapped} `.padStart(used), style: muted };
  const room = Math.max(1, width - (used === 0 ? 0 : Math.max(used, cellWidth(again.text))));
  const rows =
    longLines === 'wrap'
      ? cutSpans(line, room)
      : [clipSpans(line, room, { text: theme.symbols.cut, style: muted })];
  return rows.map((cells, at) => [...(at === 0 || used === 0 ? before : [again]), ...cells]);
}

function gutterOf({ kind, number }: DiffRow, digits: number, theme: Theme): Line {
  if (kind === 'hunk' || kind === 'file' || kind === 'note') return [];
  const count = digits === 0 ? '' : `${String(number ?? '').padStart(digits)} `;
  const sign = { added: '+', removed: '-', context: ' ' }[kind];
  return [
    { text: count, style: theme.styles.muted },
    { text: `${sign} `, style: styleOf(kind, theme) },
  ];
}

function textOf({ kind, text }: DiffRow, part: TextRange | undefined, theme: Theme): Line {
  const style = styleOf(kind, theme);
  if (part === undefined) return [{ text, style }];
  const marked = kind === 'added' ? theme.styles.addedPart : theme.styles.removedPart;
  const spans: readonly Span[] = [
    { text: text.slice(0, part.from), style },
    { text: text.slice(part.from, part.to), style: marked },
    { text: text.slice(part.to), style },
  ];
  return spans;
}

function styleOf(kind: DiffRow['kind'], { styles }: Theme): Style {
  switch (kind) {
    case 'added':
      return styles.added;
    case 'removed':
      return styles.removed;
    case 'hunk':
      return styles.hunk;
    case 'file':
      return styles.file;
    case 'note':
      return styles.muted;
    case 'context':
      return plain;
  }
}

/** The range in which a line differs from the line that it is compared with. */
interface TextRange {
  readonly from: number;
  readonly to: number;
}

interface LineChange {
  readonly before: TextRange;
  readonly after: TextRange;
}

/** Maximum length of a line that is compared word by word. */
const maxLine = 2_000;
const words = /[\p{L}\p{N}\p{M}_]+|\s+|[^\p{L}\p{N}\p{M}_\s]/gu;

/**
 * Returns the range of changed words in both lines. Returns undefined if the lines have little in
 * common.
 */
export function findLineChange(before: string, after: string): LineChange | undefined {
  if (before.length > maxLine || after.length > maxLine) return undefined;
  const [old, now] = [before.match(words) ?? [], after.match(words) ?? []];
  const most = Math.min(old.length, now.length);
  let start = 0;
  while (start < most && old[start] === now[start]) start++;
  let end = 0;
  while (end < most - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const head = old.slice(0, start).join('').length;
  const tail = old.slice(old.length - end).join('').length;
  const same =
    before.slice(0, head).trim().length + before.slice(before.length - tail).trim().length;
  if (same * 3 < Math.max(before.trim().length, after.trim().length)) return undefined;
  return {
    before: { from: head, to: before.length - tail },
    after: { from: head, to: after.length - tail },
  };
}
