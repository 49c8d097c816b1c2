import type { OnWork } from '@millrace/markdown';
import { expandTabs, printable } from '../cells/printable.ts';
import { type Line, paintLine } from '../cells/span.ts';
import { clipSpans, cutSpans } from '../cells/wrap-spans.ts';
import { plain } from '../theme/style.ts';
import type { Theme } from '../theme/theme.ts';
import { type CodePiece, highlightWith, type Modes } from './grammar.ts';
import { languageOf } from './languages.ts';

/**
 * Returns code in colors. Code in an unknown language and very long code have no colors. Lines are
 * not wrapped.
 */
export function highlight(code: string, language: string, theme: Theme): string {
  const lines = new LineHighlighter(language);
  return printable(code)
    .split('\n')
    .map((line) => paintLine(piecesToLine(lines.line(expandTabs(line)), theme)))
    .join('\n');
}

/** Maximum length of a highlighted line. Highlighting longer lines would be too slow. */
const maxLine = 1_000;
const maxCode = 500_000;
/** Maximum length of the context lines together, in characters. A longer context is dropped. */
const maxContext = 4_000;

interface ContextLine {
  readonly line: string;
  /** The grammar's modes after the line. */
  readonly modes: Modes;
}

/**
 * Highlights code line by line. As context, it keeps only the lines that opened the current modes,
 * such as the start of a comment. So the time for a line does not depend on the number of earlier
 * lines.
 */
export class LineHighlighter {
  #language: string | undefined;
  readonly #onWork: OnWork | undefined;
  #size = 0;
  #context: readonly ContextLine[] = [];

  constructor(info: string, onWork?: OnWork) {
    this.#language = languageOf(info);
    this.#onWork = onWork;
  }

  /** Returns an independent copy with the same state. */
  copy(): LineHighlighter {
    const copy = new LineHighlighter('', this.#onWork);
    copy.#language = this.#language;
    copy.#size = this.#size;
    copy.#context = this.#context;
    return copy;
  }

  /** Highlights the next line. */
  line(text: string): readonly CodePiece[] {
    const language = this.#language;
    if (language === undefined || text.length > maxLine || this.#size > maxCode) return [{ text }];
    const before = this.#context.map(({ line }) => line).join('');
    const line = `${text}\n`;
    this.#onWork?.(before.length + line.length);
    const { pieces, modes } = highlightWith(language, before + line);
    this.#size += line.length;
    this.#context = contextAfter(this.#context, { line, modes });
    return slicePieces(pieces, before.length, before.length + text.length);
  }
}

/**
 * Returns the context after a line. If the modes are the same as after an earlier line, the lines
 * in between are dropped.
 */
function contextAfter(context: readonly ContextLine[], step: ContextLine): readonly ContextLine[] {
  if (step.modes.length === 0) return [];
  const same = context.findIndex(({ modes }) => areSameModes(modes, step.modes));
  if (same !== -1) return context.slice(0, same + 1);
  const longer = [...context, step];
  const size = longer.reduce((sum, { line }) => sum + line.length, 0);
  return size > maxContext ? [] : longer;
}

function areSameModes(a: Modes, b: Modes): boolean {
  return a.length === b.length && a.every((mode, index) => mode === b[index]);
}

function slicePieces(pieces: readonly CodePiece[], from: number, to: number): readonly CodePiece[] {
  const cut: CodePiece[] = [];
  let at = 0;
  for (const { text, role } of pieces) {
    const part = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (part !== '') cut.push({ text: part, role });
    at += text.length;
  }
  return cut;
}

/** Selects how a line that is too wide is shown: wrapped or shortened. */
export type LongLines = 'wrap' | 'clip';

interface CodeRowOptions {
  readonly width: number;
  readonly theme: Theme;
  readonly longLines: LongLines;
  /** True if the line is the continuation of the previous line. */
  readonly isCut: boolean;
}

/** The width of the column that marks continuation rows. */
const gutter = 2;
/** Minimum width of a block with a gutter. */
const minWidth = 6;

export function piecesToLine(pieces: readonly CodePiece[], theme: Theme): Line {
  return pieces.map(({ text, role }) => ({
    text,
    style: role === undefined ? plain : theme.styles[role],
  }));
}

/** Splits a line of code into rows for the screen. */
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
