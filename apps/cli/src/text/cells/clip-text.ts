import { plain } from '../theme/style.ts';
import { cellWidth, isSingleCells } from './cell-width.ts';
import { paintLine, parseAnsi, type Span } from './span.ts';
import { clipSpans, wrapSpans } from './wrap-spans.ts';

/** Text, painted or not, as lines of at most so many cells; each can stand alone. */
export function wrapCells(text: string, cells: number): readonly string[] {
  return wrapSpans(parseAnsi(text), cells).map(paintLine);
}

/** One line of at most so many cells, with a mark where something was cut off. It may be painted. */
export function clipCells(text: string, cells: number, mark = '…'): string {
  if (text.length <= cells && isSingleCells(text)) return text;
  return paintLine(clipSpans(asOneLine(text), cells, { text: mark, style: plain }));
}

/** The text and spaces after it, so that it takes exactly so many cells. */
export function fitCells(text: string, cells: number, mark = '…'): string {
  const clipped = clipCells(text, cells, mark);
  return clipped + ' '.repeat(Math.max(0, cells - cellWidth(clipped)));
}

function* asOneLine(text: string): Generator<Span> {
  for (const span of parseAnsi(text)) yield { ...span, text: span.text.replaceAll('\n', ' ') };
}

interface ClipLines {
  /** Which lines are kept; the first ones if it is not said. */
  readonly keep?: 'start' | 'end';
  /** The line that stands for those that are not shown. */
  readonly note?: (hidden: number) => string;
}

/** At most so many lines; what is left out is told in one of them. */
export function clipLines(
  lines: readonly string[],
  max: number,
  { keep = 'start', note = hiddenLinesNote }: ClipLines = {},
): readonly string[] {
  if (lines.length <= max) return lines;
  if (max <= 0) return [];
  const hidden = lines.length - (max - 1);
  if (keep === 'start') return [...lines.slice(0, max - 1), note(hidden)];
  return [note(hidden), ...lines.slice(hidden)];
}

function hiddenLinesNote(hidden: number): string {
  return `… ${hidden} more ${hidden === 1 ? 'line' : 'lines'}`;
}
