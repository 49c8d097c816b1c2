import { plain } from '../theme/style.ts';
import { cellWidth, isSingleCells } from './cell-width.ts';
import { paintLine, parseAnsi, type Span } from './span.ts';
import { clipSpans, type WrapOptions, wrapSpans } from './wrap-spans.ts';

/**
 * Wraps a text into lines of a maximum width. The text may contain styles. Each resulting line sets
 * its own styles.
 */
export function wrapCells(text: string, cells: number, options?: WrapOptions): readonly string[] {
  return wrapSpans(parseAnsi(text), cells, options).map(paintLine);
}

/**
 * Shortens a text to one line of a maximum width, with a mark at the end. The text may contain
 * styles.
 */
export function clipCells(text: string, cells: number, mark = '…'): string {
  if (text.length <= cells && isSingleCells(text)) return text;
  return paintLine(clipSpans(asOneLine(text), cells, { text: mark, style: plain }));
}

/** Shortens or pads a text to an exact width. */
export function fitCells(text: string, cells: number, mark = '…'): string {
  const clipped = clipCells(text, cells, mark);
  return clipped + ' '.repeat(Math.max(0, cells - cellWidth(clipped)));
}

function* asOneLine(text: string): Generator<Span> {
  for (const span of parseAnsi(text)) yield { ...span, text: span.text.replaceAll('\n', ' ') };
}

interface ClipLines {
  /** Selects the lines to keep. Default: `start`. */
  readonly keep?: 'start' | 'end';
  /** Creates the line that replaces the hidden lines. */
  readonly note?: (hidden: number) => string;
}

/**
 * Returns at most `max` lines. If lines are hidden, one of the returned lines is a note with their
 * number.
 */
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
