import { cellWidth, graphemes, isSingleCells } from './cell-width.ts';
import type { Line, Span } from './span.ts';

/** Matches a newline, a run of spaces, or a word. */
const textRun = /\n| +|[^ \n]+/g;

export interface WrapOptions {
  /**
   * True if a space at a break is shown as `␣` at the start of the next line, so that it looks different from a cut
   * inside of a word. A `␣` in the text is shown as its code. Default: false.
   */
  readonly showsSpaces?: boolean | undefined;
}

/** The picture of a space at a break. */
const visibleSpace = '␣';
const visibleSpaceCode = '‹U+2423›';

/**
 * Wraps text into lines of a maximum width. Lines break at spaces and next to wide characters. A
 * space at a break is dropped, unless it is shown. A word that is wider than a line is cut.
 */
export function wrapSpans(
  spans: Iterable<Span>,
  cells: number,
  { showsSpaces = false }: WrapOptions = {},
): readonly Line[] {
  const wrap = new LineWrapper(Math.max(1, cells), showsSpaces);
  for (const span of spans) {
    for (const [run] of span.text.matchAll(textRun)) {
      if (run === '\n') wrap.newline();
      else if (run.startsWith(' ')) wrap.addSpace({ ...span, text: run });
      else addWord(wrap, span, showsSpaces ? run.replaceAll(visibleSpace, visibleSpaceCode) : run);
    }
  }
  return wrap.end();
}

function addWord(wrap: LineWrapper, span: Span, run: string): void {
  if (isSingleCells(run)) return wrap.addLetters({ ...span, text: run }, run.length);
  let [narrow, narrowWidth] = ['', 0];
  for (const { text, width } of graphemes(run)) {
    if (width <= 1) {
      narrow += text;
      narrowWidth += width;
      continue;
    }
    // A line may break before and after a wide character.
    wrap.addLetters({ ...span, text: narrow }, narrowWidth);
    wrap.endWord();
    wrap.addLetters({ ...span, text }, width);
    wrap.endWord();
    [narrow, narrowWidth] = ['', 0];
  }
  wrap.addLetters({ ...span, text: narrow }, narrowWidth);
}

class LineWrapper {
  readonly #cells: number;
  readonly #showsSpaces: boolean;
  readonly #lines: Line[] = [];
  #line: Span[] = [];
  #used = 0;
  #space: Span | undefined;
  #word: Span[] = [];
  #wordWidth = 0;

  constructor(cells: number, showsSpaces: boolean) {
    this.#cells = cells;
    this.#showsSpaces = showsSpaces;
  }

  addLetters(span: Span, width: number): void {
    if (span.text === '') return;
    this.#word.push(span);
    this.#wordWidth += width;
  }

  addSpace(span: Span): void {
    this.endWord();
    const before = this.#space;
    this.#space = before === undefined ? span : { ...span, text: before.text + span.text };
  }

  newline(): void {
    this.endWord();
    this.#endLine();
  }

  endWord(): void {
    let [word, width] = [this.#word, this.#wordWidth];
    if (word.length === 0) return;
    this.#word = [];
    this.#wordWidth = 0;
    const space = this.#space;
    const gap = space?.text.length ?? 0;
    if (this.#used + gap + width <= this.#cells) {
      if (space !== undefined) this.#line.push(space);
      this.#put(word, gap + width);
      return;
    }
    if (space !== undefined && this.#showsSpaces) {
      const isIndent = this.#used === 0 && gap < this.#cells;
      const text = isIndent ? space.text : visibleSpace.repeat(gap);
      [word, width] = [[{ ...space, text }, ...word], cellWidth(text) + width];
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
    // The current line may already contain characters without width. So it is cut together with the
    // word.
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

/** Cuts a line into rows of a maximum width. It cuts between characters and drops none. */
export function cutSpans(line: Iterable<Span>, cells: number): readonly Line[] {
  const width = Math.max(1, cells);
  const rows: Span[][] = [[]];
  let used = 0;
  for (const span of line) {
    for (const { text, width: more } of slices(span.text, width, () => width - used)) {
      if (used > 0 && used + more > width) {
        rows.push([]);
        used = 0;
      }
      rows.at(-1)?.push({ ...span, text });
      used += more;
    }
  }
  return rows;
}

interface Slice {
  readonly text: string;
  readonly width: number;
}

/**
 * Yields slices of a text. If all characters are one cell wide, each slice is as wide as the free
 * space. Otherwise each slice is one character. A character that is wider than a whole line is cut
 * between its code points.
 */
function* slices(text: string, width: number, room: () => number): Generator<Slice> {
  if (!isSingleCells(text)) {
    for (const grapheme of graphemes(text))
      if (grapheme.width <= Math.max(2, width)) yield grapheme;
      else for (const character of grapheme.text) yield slice(character);
    return;
  }
  for (let at = 0; at < text.length; ) {
    const left = room();
    const slice = text.slice(at, at + (left > 0 ? left : width));
    yield { text: slice, width: slice.length };
    at += slice.length;
  }
}

function slice(text: string): Slice {
  return { text, width: cellWidth(text) };
}

/**
 * Returns the start of a line, up to a maximum width. If the line was shortened, the result ends
 * with the mark.
 */
export function clipSpans(line: Iterable<Span>, cells: number, mark: Span): Line {
  const kept: Span[] = [];
  const room = Math.max(0, cells - cellWidth(mark.text));
  let used = 0;
  /** The number of spans that fit together with the mark. */
  let roomFor = 0;
  for (const span of line) {
    for (const grapheme of graphemes(span.text)) {
      if (used + grapheme.width > cells) return clipped(kept.slice(0, roomFor), cells, mark);
      kept.push({ ...span, text: grapheme.text });
      used += grapheme.width;
      if (used <= room) roomFor = kept.length;
    }
  }
  return kept;
}

function clipped(kept: Line, cells: number, mark: Span): Line {
  return cellWidth(mark.text) > cells ? kept : [...kept, mark];
}
