import { expandTabs, printable } from '../cells/printable.ts';
import { type Line, paintLine } from '../cells/span.ts';
import { clipSpans, cutSpans } from '../cells/wrap-spans.ts';
import { plain } from '../theme/style.ts';
import type { Theme } from '../theme/theme.ts';
import { type CodePiece, highlightWith, type Modes } from './grammar.ts';
import { languageOf } from './languages.ts';

/** Code in colours, if its language is known and it is not too long for that; no line is wrapped. */
export function highlight(code: string, language: string, theme: Theme): string {
  const lines = new LineHighlighter(language);
  return printable(code)
    .split('\n')
    .map((line) => paintLine(piecesToLine(lines.line(expandTabs(line)), theme)))
    .join('\n');
}

/** Beyond these, code has no colours: they would take too long. */
const maxLine = 20_000;
const maxCode = 500_000;
/** Longer than this, what came before is forgotten. */
const maxContext = 4_000;

interface ContextLine {
  readonly line: string;
  /** Where the grammar is after it. */
  readonly modes: Modes;
}

/**
 * Code line by line, each with what it has to know of those before: only the lines that lead into
 * what is still open there, a comment for instance. So a line costs the same wherever it stands.
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

  /** A second one that goes on from here. */
  copy(): LineHighlighter {
    const copy = new LineHighlighter('', this.#onWork);
    copy.#language = this.#language;
    copy.#size = this.#size;
    copy.#context = this.#context;
    return copy;
  }

  /** The line that comes next. */
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

/** A way that leads back to where it has been is forgotten. */
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

/** What becomes of a line that is wider than there is room. */
export type LongLines = 'wrap' | 'clip';

interface CodeRowOptions {
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

/** Told of the steps that were made, each of about the same cost: how tests see that work is linear. */
export type OnWork = (steps: number) => void;
