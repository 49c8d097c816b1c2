import { cellWidth, graphemes, isSingle } from './cell-width.ts';
import type { Line, Span } from './span.ts';

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
  if (!isSingle(text)) {
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
