/** The end of a text that grows. What is far back is dropped, so that it costs the same however long it gets. */
export interface Tail {
  readonly text: string;
  /** Line breaks in what was dropped. */
  readonly droppedLines: number;
}

export const emptyTail: Tail = { text: '', droppedLines: 0 };

const keptLength = 4096;

/** It is cut when it is twice as long as what is kept, so that cutting is rare. */
export function appendTail(tail: Tail, more: string): Tail {
  const text = tail.text + more;
  if (text.length <= 2 * keptLength) return { ...tail, text };
  const cut = cutAt(text, text.length - keptLength);
  const dropped = countLines(text.slice(0, cut));
  return { text: text.slice(cut), droppedLines: tail.droppedLines + dropped };
}

/** The last lines, and how many there are before them. An end of line at the very end begins no line. */
export function lastLines(
  tail: Tail,
  count: number,
): { readonly lines: readonly string[]; readonly above: number } {
  const lines = tail.text.replace(/\r?\n$/, '').split('\n');
  const shown = count <= 0 ? [] : lines.slice(-count);
  if (tail.text === '') return { lines: [], above: tail.droppedLines };
  return { lines: shown, above: tail.droppedLines + lines.length - shown.length };
}

/** After a line break where one is near, and never in the middle of a pair. */
function cutAt(text: string, at: number): number {
  const lineBreak = text.indexOf('\n', at);
  if (lineBreak !== -1 && lineBreak < at + keptLength / 2) return lineBreak + 1;
  const isPair = /[\udc00-\udfff]/.test(text.charAt(at));
  return isPair ? at + 1 : at;
}

function countLines(text: string): number {
  return text.split('\n').length - 1;
}
