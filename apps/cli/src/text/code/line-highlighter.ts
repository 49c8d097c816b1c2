import type { OnWork } from '../work.ts';
import { highlightWith, type Modes } from './grammar.ts';
import { languageOf } from './languages.ts';
import type { CodePiece } from './scope-emitter.ts';

/** Beyond these, code has no colours: they would take too long. */
const maxLine = 20_000;
const maxCode = 500_000;
/** Longer than this, what came before is forgotten. */
const maxContext = 4_000;

interface Step {
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
  #context: readonly Step[] = [];

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
function contextAfter(context: readonly Step[], step: Step): readonly Step[] {
  if (step.modes.length === 0) return [];
  const same = context.findIndex(({ modes }) => areSame(modes, step.modes));
  if (same !== -1) return context.slice(0, same + 1);
  const longer = [...context, step];
  const size = longer.reduce((sum, { line }) => sum + line.length, 0);
  return size > maxContext ? [] : longer;
}

function areSame(a: Modes, b: Modes): boolean {
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
