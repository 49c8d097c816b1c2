import type { ToolOutput } from '@millrace/agent';
import type { OpenFile } from '../workspace/open-file.ts';
import { byteCount } from './byte-count.ts';
import { type Kept, type Line, LineWindow } from './line-window.ts';

export interface LinesWanted {
  /** Counted from 1. */
  readonly first: number;
  readonly count: number;
  readonly signal: AbortSignal;
}

const chunkLength = 65_536;
/** What the system makes up when it is read, as in /proc, says that it has no bytes. */
const maxUnsizedBytes = 16_777_216;
const bounds = { maxLineLength: 2000, maxLength: 50_000, maxLineBytes: 16_777_216 };

/** Some lines with their numbers, and a word on the rest. The file is read up to the last of them. */
export async function readLines(file: OpenFile, wanted: LinesWanted): Promise<ToolOutput | string> {
  const window = new LineWindow({ first: wanted.first, count: wanted.count, ...bounds });
  const chunk = new Uint8Array(chunkLength);
  // Not beyond the size that it had: something may be writing to it without end.
  const size = file.stats.size || maxUnsizedBytes;
  for (let position = 0; position < size; ) {
    wanted.signal.throwIfAborted();
    const length = Math.min(chunk.length, size - position);
    const { bytesRead } = await file.handle.read(chunk, 0, length, position);
    if (bytesRead === 0 || !window.take(chunk.subarray(0, bytesRead))) break;
    position += bytesRead;
  }
  const kept = window.end();
  return kept.lines.length === 0 ? pastEnd(file, wanted, kept) : shown(wanted.first, kept);
}

function pastEnd({ place }: OpenFile, { first }: LinesWanted, { lineCount }: Kept): ToolOutput {
  const has = lineCount === 1 ? '1 line' : `${lineCount} lines`;
  const text = `Cannot read ${place.shown} from line ${first}: it has ${has}`;
  return { output: { text, isError: true } };
}

function shown(first: number, kept: Kept): string {
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

function notes(first: number, kept: Kept): readonly string[] {
  const { lines, lineCount, stop } = kept;
  const last = first + lines.length - 1;
  const range = lines.length === 1 ? `Line ${first}` : `Lines ${first} to ${last}`;
  const endings = new Set(lines.map(({ ending }) => ending).filter((ending) => ending !== ''));
  return [
    stop === 'count' || stop === 'length'
      ? `${range}. More follow: read on with offset ${last + 1}`
      : '',
    stop === 'endless_line' ? `${range}. The last one is too long to find what follows it` : '',
    stop === undefined && first > 1 ? `${range} of ${lineCount}` : '',
    endings.has('\r\n') ? `Line endings: ${endings.size > 1 ? 'CRLF and LF, mixed' : 'CRLF'}` : '',
    first === 1 && lines[0]?.text.startsWith('\ufeff') ? 'It starts with a byte order mark' : '',
    lines.some(({ text }) => text.includes('\ufffd'))
      ? 'Some bytes are not UTF-8, and are shown as \ufffd'
      : '',
  ].filter((note) => note !== '');
}
