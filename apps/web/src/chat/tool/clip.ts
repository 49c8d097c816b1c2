export interface ClipLimits {
  readonly headLines: number;
  readonly headLength: number;
  readonly tailLines: number;
  readonly tailLength: number;
}

export interface Clipped {
  readonly head: string;
  readonly tail: string;
  /** What is between them, in words; undefined where it is all there. */
  readonly between?: string;
}

/** The head and the tail of a text: what matters may be at its end, and whoever hides it hides it there. */
export function clip(text: string, limits: ClipLimits): Clipped {
  const headEnd = endOfHead(text, limits);
  const tailStart = startOfTail(text, limits);
  // A cut that leaves out hardly anything is none.
  if (tailStart - headEnd <= limits.tailLength / 4 && !hasLines(text, headEnd, tailStart, 2))
    return { head: text, tail: '' };
  const left = text.slice(headEnd, tailStart);
  return { head: text.slice(0, headEnd), tail: text.slice(tailStart), between: countOf(left) };
}

function countOf(text: string): string {
  const lines = text.split('\n').length - 1;
  const characters = `${text.length.toLocaleString('en')} characters`;
  return lines < 2 ? characters : `${lines.toLocaleString('en')} lines, ${characters}`;
}

function endOfHead(text: string, { headLines, headLength }: ClipLimits): number {
  let at = -1;
  for (let line = 0; line < headLines; line++) {
    const next = text.indexOf('\n', at + 1);
    if (next < 0 || next >= headLength) return whole(text, Math.min(headLength, text.length));
    at = next;
  }
  return at + 1;
}

function startOfTail(text: string, { tailLines, tailLength }: ClipLimits): number {
  const least = Math.max(0, text.length - tailLength);
  let at = text.length;
  // What ends a text begins no line.
  for (let line = text.endsWith('\n') ? -1 : 0; line < tailLines; line++) {
    const before = at === 0 ? -1 : text.lastIndexOf('\n', at - 1);
    if (before < least) return whole(text, least);
    at = before;
  }
  return at + 1;
}

function hasLines(text: string, from: number, to: number, least: number): boolean {
  return from < to && text.slice(from, to).split('\n').length > least;
}

/** Not in the middle of a letter of two. */
function whole(text: string, at: number): number {
  const isSplit = /^[\udc00-\udfff]/.test(text.slice(at, at + 1)) && at > 0;
  return isSplit && /[\ud800-\udbff]$/.test(text.slice(at - 1, at)) ? at - 1 : at;
}
