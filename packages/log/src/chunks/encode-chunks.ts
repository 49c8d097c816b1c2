import { encodeRecord, type LogRecord, type Snapshot } from '@millrace/core';
import { settledIn } from '../shelf/settled-in.ts';
import { type AppendRecord, continues, encodeRun } from './append-run.ts';

export interface EncodedChunk {
  /** The offset of the last record in it. */
  readonly last: number;
  readonly body: string;
}

/** About where one chunk ends and another begins, so that reading some records need not mean reading all. */
const chunkLength = 2 ** 16;
/** What an append takes besides its text, or a little more. */
const roomAround = 8;

/** Records as lines: appends in runs, any other record as the line that it is everywhere else. */
export function encodeChunks(records: readonly LogRecord[]): readonly EncodedChunk[] {
  const encoder = new Encoder(settledIn(records));
  for (const record of records) encoder.add(record);
  return encoder.end();
}

class Encoder {
  readonly #chunks: EncodedChunk[] = [];
  #lines: string[] = [];
  #length = 0;
  #last = 0;
  #run: AppendRecord[] = [];
  /** A page is some chunks, and must not end among what a snapshot stands for. */
  readonly #settled: readonly Snapshot['covers'][];

  constructor(settled: readonly Snapshot['covers'][]) {
    this.#settled = settled;
  }

  add(record: LogRecord): void {
    if (this.#length >= chunkLength && !this.#isInside(this.#last)) this.#endChunk();
    if (isAppend(record)) this.#append(record);
    else {
      this.#endRun();
      const line = encodeRecord(record);
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
    if (before !== undefined && !continues(before, record)) this.#endRun();
    this.#run.push(record);
    this.#length += record.delta.chunk.length + roomAround;
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
