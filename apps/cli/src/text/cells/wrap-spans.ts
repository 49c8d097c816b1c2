import { cellWidth, graphemes, isSingleCells } from './cell-width.ts';
import type { Line, Span } from './span.ts';

/** What may not be parted, or the space between. */
const textRun = /\n| +|[^ \n]+/g;

/**
 * Text as lines of at most so many cells. Lines break at spaces, which are then left out, and
 * around wide characters; a word that is too long for a line is cut.
 */
export function wrapSpans(spans: Iterable<Span>, cells: number): readonly Line[] {
  const wrap = new LineWrapper(Math.max(1, cells));
  for (const span of spans) {
    for (const [run] of span.text.matchAll(textRun)) {
      if (run === '\n') wrap.newline();
      else if (run.startsWith(' ')) wrap.addSpace({ ...span, text: run });
      else addWord(wrap, span, run);
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
    // Before and after a wide character, a line may break.
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
  readonly #lines: Line[] = [];
  #line: Span[] = [];
  #used = 0;
  #space: Span | undefined;
  #word: Span[] = [];
  #wordWidth = 0;

  constructor(cells: number) {
    this.#cells = cells;
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

/** A line as rows of at most so many cells, cut between characters, nothing left out. */
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

/** Characters of one cell in slices as large as the room there is, others one by one. */
function* slices(text: string, width: number, room: () => number): Generator<Slice> {
  if (!isSingleCells(text)) {
    yield* graphemes(text);
    return;
  }
  for (let at = 0; at < text.length; ) {
    const left = room();
    const slice = text.slice(at, at + (left > 0 ? left : width));
    yield { text: slice, width: slice.length };
    at += slice.length;
  }
}

/** The start of a line, in at most so many cells; where something is cut off, the mark says so. */
export function clipSpans(line: Iterable<Span>, cells: number, mark: Span): Line {
  const kept: Span[] = [];
  const room = Math.max(0, cells - cellWidth(mark.text));
  let used = 0;
  /** Where the mark would still fit. */
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
