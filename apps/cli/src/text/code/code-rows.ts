import { clipSpans, cutSpans } from '../cells/cut-spans.ts';
import type { Line } from '../cells/span.ts';
import { plain } from '../theme/style.ts';
import type { Theme } from '../theme/theme.ts';
import type { CodePiece } from './scope-emitter.ts';

/** What becomes of a line that is wider than there is room. */
export type LongLines = 'wrap' | 'clip';

export interface CodeRowOptions {
  readonly width: number;
  readonly theme: Theme;
  readonly longLines: LongLines;
  /** The line goes on with the one before. */
  readonly isCut: boolean;
}

/** Beside code, where the mark stands that a row goes on with the one above. */
const gutter = 2;
/** Where there is less room than this, there is no gutter. */
const minWidth = 6;

export function piecesToLine(pieces: readonly CodePiece[], theme: Theme): Line {
  return pieces.map(({ text, role }) => ({
    text,
    style: role === undefined ? plain : theme.styles[role],
  }));
}

/** A line of code as the rows it is shown in. */
export function codeRows(line: Line, options: CodeRowOptions): readonly Line[] {
  const { width, theme, longLines, isCut } = options;
  const room = width < minWidth ? width : width - gutter;
  const muted = theme.styles.muted;
  const rows =
    longLines === 'wrap'
      ? cutSpans(line, room)
      : [clipSpans(line, room, { text: theme.symbols.cut, style: muted })];
  if (room === width) return rows;
  const space = { text: ' '.repeat(gutter), style: plain };
  const mark = { text: `${theme.symbols.wrapped} `, style: muted };
  return rows.map((row, index) => [index > 0 || isCut ? mark : space, ...row]);
}
