/**
 * The text of a file with `\n` as the only line ending, and the data to restore the original bytes.
 */
export interface TextFile {
  readonly text: string;
  readonly hasByteOrderMark: boolean;
  /** One entry for each `\n` in `text`. It is true if the file has `\r\n` at this position. */
  readonly isCrlf: readonly boolean[];
}

export const byteOrderMark = '\ufeff';

/**
 * Decodes a text file. Returns undefined if the bytes are not valid UTF-8, because they could not be restored
 * from the text.
 */
export function decodeText(bytes: Uint8Array): TextFile | undefined {
  try {
    const raw = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const hasByteOrderMark = raw.startsWith(byteOrderMark);
    const body = hasByteOrderMark ? raw.slice(byteOrderMark.length) : raw;
    const isCrlf = Array.from(body.matchAll(/\r?\n/g), ([ending]) => ending === '\r\n');
    return { text: withoutCrlf(body), hasByteOrderMark, isCrlf };
  } catch {
    return undefined;
  }
}

export function encodeText({ text, hasByteOrderMark, isCrlf }: TextFile): Uint8Array {
  let line = 0;
  const body = text.replace(/\n/g, () => (isCrlf[line++] === true ? '\r\n' : '\n'));
  return new TextEncoder().encode(hasByteOrderMark ? byteOrderMark + body : body);
}

export function withoutCrlf(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/**
 * Replaces `old` at the given positions, which must not overlap. Lines in the common prefix and suffix of the
 * old and the new text keep their endings. New lines get the most frequent ending of the file.
 */
export function replaceAt(
  file: TextFile,
  starts: readonly number[],
  old: string,
  replacement: string,
): TextFile {
  const head = commonPrefixLength(old, replacement);
  const tail = commonSuffixLength(old.slice(head), replacement.slice(head));
  const inserted = replacement.slice(head, replacement.length - tail);
  const removed = countLines(old.slice(head, old.length - tail));
  const newEndings = Array<boolean>(countLines(inserted)).fill(isMostlyCrlf(file));
  const texts: string[] = [];
  const endings: (readonly boolean[])[] = [];
  let [at, line] = [0, 0];
  for (const start of starts) {
    const kept = file.text.slice(at, start + head);
    const keptLines = countLines(kept);
    texts.push(kept, inserted);
    endings.push(file.isCrlf.slice(line, line + keptLines), newEndings);
    at = start + old.length - tail;
    line += keptLines + removed;
  }
  const text = [...texts, file.text.slice(at)].join('');
  return { ...file, text, isCrlf: joined([...endings, file.isCrlf.slice(line)]) };
}

/**
 * Joins the lists. `concat` is much faster than `flat` for a few long lists, but it accepts only a limited
 * number of arguments.
 */
function joined(lists: readonly (readonly boolean[])[]): readonly boolean[] {
  return lists.length < 100 ? ([] as boolean[]).concat(...lists) : lists.flat();
}

function isMostlyCrlf({ isCrlf }: TextFile): boolean {
  return isCrlf.filter(Boolean).length * 2 > isCrlf.length;
}

export function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

function commonPrefixLength(a: string, b: string): number {
  let length = 0;
  while (length < Math.min(a.length, b.length) && a[length] === b[length]) length++;
  return length;
}

function commonSuffixLength(a: string, b: string): number {
  let length = 0;
  while (length < Math.min(a.length, b.length) && a.at(-1 - length) === b.at(-1 - length)) length++;
  return length;
}
