import { decodeRecord, isMillraceError, type LogRecord, type Snapshot } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import {
  type AppendRecord,
  continuesRun,
  decodeRun,
  encodeRun,
  linkedRunVersion,
} from './append-run.ts';
import { encodeLine } from './record-line.ts';
import { settledRanges } from './record-list.ts';

interface EncodedChunk {
  /** The offset of the last record in the chunk. */
  readonly last: number;
  readonly body: string;
}

/**
 * The approximate maximum length of a chunk. With small chunks, readers can load a few records without
 * loading all records.
 */
const chunkLength = 2 ** 16;
/** The approximate number of characters that a run needs per append, in addition to the text. */
const appendOverhead = 8;

/**
 * Encodes records as lines in chunks. Text appends are encoded as runs. Each record of any other type
 * is one JSON line.
 */
export function encodeChunks(records: readonly LogRecord[]): readonly EncodedChunk[] {
  const encoder = new ChunkEncoder(settledRanges(records));
  for (const record of records) encoder.add(record);
  return encoder.end();
}

class ChunkEncoder {
  readonly #chunks: EncodedChunk[] = [];
  #lines: string[] = [];
  #length = 0;
  #last = 0;
  #run: AppendRecord[] = [];
  /**
   * The offset ranges that snapshots replace. A chunk must not end inside such a range. The reason is that a
   * page consists of whole chunks, and a page must not end inside such a range.
   */
  readonly #settled: readonly Snapshot['covers'][];

  constructor(settled: readonly Snapshot['covers'][]) {
    this.#settled = settled;
  }

  add(record: LogRecord): void {
    if (this.#length >= chunkLength && !this.#isInside(this.#last)) this.#endChunk();
    if (isAppend(record)) this.#append(record);
    else {
      this.#endRun();
      const line = encodeLine(record);
      this.#lines.push(line);
      this.#length += line.length;
    }
    this.#last = record.offset;
  }

  end(): readonly EncodedChunk[] {
    this.#endChunk();
    return this.#chunks;
  }

  #append(record: AppendRecord): void {
    const before = this.#run.at(-1);
    // Only the last record of a run can have links.
    if (before !== undefined && (before.links !== undefined || !continuesRun(before, record)))
      this.#endRun();
    this.#run.push(record);
    this.#length += record.delta.chunk.length + appendOverhead;
  }

  #isInside(offset: number): boolean {
    return this.#settled.some(([first, last]) => first <= offset && offset < last);
  }

  #endRun(): void {
    const [first] = this.#run;
    if (first !== undefined) this.#lines.push(encodeRun(first, this.#run));
    this.#run = [];
  }

  #endChunk(): void {
    this.#endRun();
    if (this.#lines.length === 0) return;
    this.#chunks.push({ last: this.#last, body: this.#lines.join('\n') });
    this.#lines = [];
    this.#length = 0;
  }
}

function isAppend(record: LogRecord): record is AppendRecord {
  return record.delta?.type === 'append_text';
}

/** The offsets that a chunk covers. The chunk contains all records in this range. */
export interface ChunkRange {
  readonly session: string;
  readonly first: number;
  readonly last: number;
}

/**
 * Decodes a chunk. Throws `too_new` for a later version, and `corrupt` for any other text that `encodeChunks`
 * cannot have written.
 */
export function decodeChunk(body: string, range: ChunkRange): readonly LogRecord[] {
  const records: LogRecord[] = [];
  let next = range.first;
  for (const line of body === '' ? [] : body.split('\n')) {
    for (const record of decodeLine(line, { ...range, first: next })) {
      if (record.offset < next || record.offset > range.last)
        throw corruptChunk({ ...range, first: next }, 'its offset is out of range');
      next = record.offset + 1;
      records.push(record);
    }
  }
  return records;
}

/** Decodes one line. Errors contain `range.first` as the offset. */
function decodeLine(line: string, range: ChunkRange): readonly LogRecord[] {
  if (line.startsWith('{')) return [readRecord(line, range)];
  const parsed = parseArray(line);
  if (Number(parsed?.[0]) > linkedRunVersion) throw newerVersion(range);
  const records = parsed && decodeRun(parsed);
  if (records === undefined) throw corruptChunk(range, 'a line has an unknown format');
  return records;
}

function readRecord(line: string, range: ChunkRange): LogRecord {
  try {
    return decodeRecord(line);
  } catch (error) {
    throw unreadableRecord(error, range);
  }
}

function parseArray(line: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function unreadableRecord(cause: unknown, range: ChunkRange): LogError {
  const isNewer = isMillraceError(cause) && cause.code === 'unsupported_version';
  return isNewer
    ? newerVersion(range, cause)
    : corruptChunk(range, 'a record is not readable', cause);
}

function newerVersion({ session, first: offset }: ChunkRange, cause?: unknown): LogError {
  const message = `Cannot read session ${session} at offset ${offset}: a later version of the program wrote it. Use that version`;
  return new LogError('too_new', message, { session, offset }, { cause });
}

export function corruptChunk(
  { session, first: offset }: ChunkRange,
  why: string,
  cause?: unknown,
): LogError {
  const message = `Cannot read session ${session} at offset ${offset}: ${why}. The stored data is damaged; restore a backup`;
  return new LogError('corrupt', message, { session, offset }, { cause });
}
