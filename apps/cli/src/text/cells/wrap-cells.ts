import { parseAnsi } from './parse-ansi.ts';
import { paintLine } from './span.ts';
import { wrapSpans } from './wrap-spans.ts';

/** Text, painted or not, as lines of at most so many cells; each can stand alone. */
export function wrapCells(text: string, cells: number): readonly string[] {
  return wrapSpans(parseAnsi(text), cells).map(paintLine);
}
