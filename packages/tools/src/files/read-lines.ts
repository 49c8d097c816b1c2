import type { ToolOutput } from '@millrace/agent';
import type { OpenFile } from '../workspace/open-file.ts';

interface LineRange {
  /** The number of the first line, counted from 1. */
  readonly first: number;
  readonly count: number;
  readonly signal: AbortSignal;
}

const chunkLength = 65_536;
/**
 * Maximum number of bytes to read from a file with the reported size 0. The system generates such files on
 * reading, for example in /proc.
 */
const maxUnsizedBytes = 16_777_216;
const bounds = { maxLineLength: 2000, maxLength: 50_000, maxLineBytes: 16_777_216 };

/**
 * Returns the requested lines with their numbers, and notes about the rest of the file. It reads no further
 * than the last requested line.
 */
export async function readLines(file: OpenFile, wanted: LineRange): Promise<ToolOutput | string> {
  const window = new LineWindow({ first: wanted.first, count: wanted.count, ...bounds });
  const chunk = new Uint8Array(chunkLength);
  // Reading stops at the initial size, because a different process may append to the file without end.
  const size = file.stats.size || maxUnsizedBytes;
  for (let position = 0; position < size; ) {
    wanted.signal.throwIfAborted();
    const length = Math.min(chunk.length, size - position);
    const { bytesRead } = await file.handle.read(chunk, 0, length, position);
    if (bytesRead === 0 || !window.push(chunk.subarray(0, bytesRead))) break;
    position += bytesRead;
  }
  const kept = window.end();
  return kept.lines.length === 0 ? pastEnd(file, wanted, kept) : numberedLines(wanted.first, kept);
}

function pastEnd(
  { place }: OpenFile,
  { first }: LineRange,
  { lineCount }: CollectedLines,
): ToolOutput {
  const has = lineCount === 1 ? '1 line' : `${lineCount} lines`;
  const text = `Cannot read ${place.shown} from line ${first}: it has ${has}`;
  return { output: { text, isError: true } };
}

function numberedLines(first: number, kept: CollectedLines): string {
  const isFromStart = first === 1;
  const lines = kept.lines.map((line, index) => {
    const isEndless = kept.stop === 'endless_line' && index === kept.lines.length - 1;
    return `${first + index}\t${lineText(line, isFromStart && index === 0)}${clipNote(line, isEndless)}`;
  });
  return [...lines, ...notes(first, kept).map((note) => `(${note})`)].join('\n');
}

function lineText({ text }: Line, isFirst: boolean): string {
  if (text.includes('\0')) return '… binary data …';
  return isFirst ? text.replace(/^\ufeff/, '') : text;
}

function clipNote({ clippedBytes }: Line, isEndless: boolean): string {
  if (clippedBytes === 0) return '';
  return `… (clipped: ${isEndless ? 'at least ' : ''}${byteCount(clippedBytes)} more)`;
}

function notes(first: number, kept: CollectedLines): readonly string[] {
  const { lines, lineCount, stop } = kept;
  const last = first + lines.length - 1;
  const range = lines.length === 1 ? `Line ${first}` : `Lines ${first} to ${last}`;
  const endings = new Set(lines.map(({ ending }) => ending).filter((ending) => ending !== ''));
  return [
    stop === 'count' || stop === 'length'
      ? `${range}. More follow: continue with offset ${last + 1}`
      : '',
    stop === 'endless_line' ? `${range}. The last line is too long to find the lines after it` : '',
    stop === undefined && first > 1 ? `${range} of ${lineCount}` : '',
    endings.has('\r\n') ? `Line endings: ${endings.size > 1 ? 'CRLF and LF, mixed' : 'CRLF'}` : '',
    first === 1 && lines[0]?.text.startsWith('\ufeff')
      ? 'The file starts with a byte order mark'
      : '',
    lines.some(({ text }) => text.includes('\ufffd'))
      ? 'Some bytes are not UTF-8, and are shown as \ufffd'
      : '',
  ].filter((note) => note !== '');
}

interface Line {
  readonly text: string;
  /** The number of bytes of the line that are missing in `text`. */
  readonly clippedBytes: number;
  readonly ending: '\r\n' | '\n' | '';
}

export interface WindowOptions {
  /** The number of the first line to collect, counted from 1. `count` is the number of lines to collect. */
  readonly first: number;
  readonly count: number;
  /** Maximum length of one line, in characters. */
  readonly maxLineLength: number;
  /** Maximum length of all lines together, in characters. */
  readonly maxLength: number;
  /**
   * Maximum number of bytes of a collected line. Reading stops at a longer line and does not reach the lines
   * after it.
   */
  readonly maxLineBytes: number;
}

/** The lines in the bytes that have been processed so far. */
interface CollectedLines {
  readonly lines: readonly Line[];
  /** The number of lines that have started, including lines that were not collected. */
  readonly lineCount: number;
  /** The reason why reading stopped although more bytes exist. */
  readonly stop: 'count' | 'length' | 'endless_line' | undefined;
}

const newline = 10;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Collects a range of lines from bytes that arrive in pieces. It keeps only the requested lines in memory.
 */
export class LineWindow {
  readonly #options: WindowOptions;
  readonly #lines: Line[] = [];
  #lineCount = 0;
  #length = 0;
  #stop: CollectedLines['stop'];
  /**
   * The first bytes of the current line. `#pieceBytes` counts these bytes, and `#lineBytes` counts all bytes
   * of the line.
   */
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  #lineBytes = 0;
  #isOpen = false;

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  /** Processes bytes. Returns false when it needs no more bytes. */
  push(bytes: Uint8Array): boolean {
    for (let start = 0; start < bytes.length && this.#stop === undefined; ) {
      if (!this.#isOpen && !this.#beginLine()) break;
      const end = bytes.indexOf(newline, start);
      const next = end < 0 ? bytes.length : end + 1;
      this.#append(bytes.subarray(start, next));
      if (end >= 0) this.#finishLine();
      else this.#stopIfTooLong();
      start = next;
    }
    return this.#stop === undefined;
  }

  /** Returns the collected lines. A last line without a line break counts as a line. */
  end(): CollectedLines {
    if (this.#isOpen) this.#finishLine();
    return { lines: this.#lines, lineCount: this.#lineCount, stop: this.#stop };
  }

  get #isWanted(): boolean {
    return this.#lineCount >= this.#options.first;
  }

  /**
   * Starts a line when its first byte has arrived. Returns false and sets `stop` if the limits allow no more
   * lines.
   */
  #beginLine(): boolean {
    const { count, maxLength } = this.#options;
    if (this.#lines.length >= count) this.#stop = 'count';
    else if (this.#length >= maxLength) this.#stop = 'length';
    else {
      this.#isOpen = true;
      this.#lineCount++;
    }
    return this.#isOpen;
  }

  #append(piece: Uint8Array): void {
    this.#lineBytes += piece.length;
    if (!this.#isWanted) return;
    // A character has at most four bytes. The eight extra bytes leave room for the line ending.
    const room = this.#options.maxLineLength * 4 + 8 - this.#pieceBytes;
    if (room > 0) {
      // The piece is copied, because the caller reuses its buffer.
      this.#pieces.push(piece.slice(0, room));
      this.#pieceBytes += Math.min(room, piece.length);
    }
  }

  #stopIfTooLong(): void {
    if (!this.#isWanted || this.#lineBytes <= this.#options.maxLineBytes) return;
    this.#finishLine();
    this.#stop = 'endless_line';
  }

  #finishLine(): void {
    if (this.#isWanted) this.#collectLine();
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#lineBytes = 0;
    this.#isOpen = false;
  }

  #collectLine(): void {
    const raw = decoder.decode(Buffer.concat(this.#pieces));
    const isWhole = this.#pieceBytes === this.#lineBytes;
    const ending = isWhole ? (/\r?\n$/.exec(raw)?.[0] ?? '') : '';
    const text = clipText(raw.slice(0, raw.length - ending.length), this.#options.maxLineLength);
    const clippedBytes = Math.max(0, this.#lineBytes - ending.length - Buffer.byteLength(text));
    const isClipped = !isWhole || text.length + ending.length < raw.length;
    this.#lines.push({
      text,
      clippedBytes: isClipped ? clippedBytes : 0,
      ending: ending as Line['ending'],
    });
    this.#length += text.length;
  }
}

function clipText(text: string, length: number): string {
  if (text.length <= length) return text;
  // The cut must not split a surrogate pair.
  return text.slice(
    0,
    text.codePointAt(length - 1) === text.charCodeAt(length - 1) ? length : length - 1,
  );
}

/** Formats a size, for example `812 bytes`, `3.4 kB`, `1.1 GB`. */
export function byteCount(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), 4);
  return `${(bytes / 1000 ** power).toFixed(1)} ${['', 'kB', 'MB', 'GB', 'TB'][power]}`;
}
