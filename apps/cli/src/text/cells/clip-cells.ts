import { plain } from '../theme/style.ts';
import { cellWidth, isSingle } from './cell-width.ts';
import { clipSpans } from './cut-spans.ts';
import { parseAnsi } from './parse-ansi.ts';
import { paintLine, type Span } from './span.ts';

/** One line of at most so many cells, with a mark where something was cut off. It may be painted. */
export function clipCells(text: string, cells: number, mark = '…'): string {
  if (text.length <= cells && isSingle(text)) return text;
  return paintLine(clipSpans(inOneLine(text), cells, { text: mark, style: plain }));
}

/** The text and spaces after it, so that it takes exactly so many cells. */
export function fitCells(text: string, cells: number, mark = '…'): string {
  const clipped = clipCells(text, cells, mark);
  return clipped + ' '.repeat(Math.max(0, cells - cellWidth(clipped)));
}

function* inOneLine(text: string): Generator<Span> {
  for (const span of parseAnsi(text)) yield { ...span, text: span.text.replaceAll('\n', ' ') };
}
