import { cellWidth, graphemes, isSingle } from './cell-width.ts';
import { cutSpans } from './cut-spans.ts';
import type { Line, Span } from './span.ts';

/** What may not be parted, or the space between. */
const runs = /\n| +|[^ \n]+/g;

/**
 * Text as lines of at most so many cells. Lines break at spaces, which are then left out, and
 * around wide characters; a word that is too long for a line is cut.
 */
export function wrapSpans(spans: Iterable<Span>, cells: number): readonly Line[] {
  const wrap = new Wrap(Math.max(1, cells));
  for (const span of spans) {
    for (const [run] of span.text.matchAll(runs)) {
      if (run === '\n') wrap.newline();
      else if (run.startsWith(' ')) wrap.space({ ...span, text: run });
      else addWord(wrap, span, run);
    }
  }
  return wrap.end();
}

function addWord(wrap: Wrap, span: Span, run: string): void {
  if (isSingle(run)) return wrap.letters({ ...span, text: run }, run.length);
  let [narrow, narrowWidth] = ['', 0];
  for (const { text, width } of graphemes(run)) {
    if (width <= 1) {
      narrow += text;
      narrowWidth += width;
      continue;
    }
    // Before and after a wide character, a line may break.
    wrap.letters({ ...span, text: narrow }, narrowWidth);
    wrap.endWord();
    wrap.letters({ ...span, text }, width);
    wrap.endWord();
    [narrow, narrowWidth] = ['', 0];
  }
  wrap.letters({ ...span, text: narrow }, narrowWidth);
}

class Wrap {
  readonly #cells: number;
  readonly #lines: Line[] = [];
  #line: Span[] = [];
  #used = 0;
  #space: Span | undefined;
  #word: Span[] = [];
  #wordWidth = 0;

  constructor(cells: number) {
    this.#cells = cells;
  }

  letters(span: Span, width: number): void {
    if (span.text === '') return;
    this.#word.push(span);
    this.#wordWidth += width;
  }

  space(span: Span): void {
    this.endWord();
    const before = this.#space;
    this.#space = before === undefined ? span : { ...span, text: before.text + span.text };
  }

  newline(): void {
    this.endWord();
    this.#endLine();
  }

  endWord(): void {
    const word = this.#word;
    if (word.length === 0) return;
    const width = this.#wordWidth;
    this.#word = [];
    this.#wordWidth = 0;
    const gap = this.#space?.text.length ?? 0;
    if (this.#used + gap + width <= this.#cells) {
      if (this.#space !== undefined) this.#line.push(this.#space);
      this.#put(word, gap + width);
      return;
    }
    if (this.#used > 0) this.#endLine();
    this.#space = undefined;
    if (width <= this.#cells) this.#put(word, width);
    else this.#cut(word);
  }

  end(): readonly Line[] {
    this.endWord();
    this.#endLine();
    return this.#lines;
  }

  #cut(word: Line): void {
    // The line may have begun with what takes no room, such as a zero-width space.
    const rows = cutSpans([...this.#line, ...word], this.#cells);
    this.#line = [];
    const last = rows.at(-1) ?? [];
    for (const row of rows.slice(0, -1)) this.#lines.push(row);
    this.#put(last, cellWidth(last.map(({ text }) => text).join('')));
  }

  #put(spans: Line, width: number): void {
    for (const span of spans) this.#line.push(span);
    this.#used += width;
    this.#space = undefined;
  }

  #endLine(): void {
    this.#lines.push(this.#line);
    this.#line = [];
    this.#used = 0;
    this.#space = undefined;
  }
}
