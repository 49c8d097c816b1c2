import type { LogRecord, SessionId } from '@millrace/core';
import { corruptChunk, decodeChunk, encodeChunks } from '../storage/chunk-codec.ts';

/**
 * A table row with records. It covers every offset from `first` to `last`, including offsets whose records
 * were removed.
 */
export interface ChunkRow {
  readonly first: number;
  readonly last: number;
  readonly body: string;
}

/** The approximate memory of a decoded record without its content, in bytes. */
const recordOverheadBytes = 100;

export function toChunkRows(
  first: number,
  last: number,
  records: readonly LogRecord[],
): readonly ChunkRow[] {
  let next = first;
  const encoded = encodeChunks(records);
  const chunks = encoded.slice(0, -1).map(({ last: end, body }) => {
    const chunk = { first: next, last: end, body };
    next = end + 1;
    return chunk;
  });
  return [...chunks, { first: next, last, body: encoded.at(-1)?.body ?? '' }];
}

/** Decodes chunk rows in order and detects missing rows. */
export class ChunkReader {
  readonly records: LogRecord[] = [];
  readonly #session: SessionId;
  readonly #after: number;
  /** The last offset of the rows that were read. */
  end: number;
  bytes = 0;

  constructor(session: SessionId, after: number) {
    this.#session = session;
    this.#after = after;
    this.end = after;
  }

  add({ first, last, body }: ChunkRow, isWhole = false): void {
    const follows = this.end === this.#after ? first <= this.end + 1 : first === this.end + 1;
    if (!follows) throw this.missing();
    const records = decodeChunk(body, { session: this.#session, first, last });
    for (const record of records)
      if (isWhole || record.offset > this.#after) this.records.push(record);
    this.end = last;
    this.bytes += body.length + records.length * recordOverheadBytes;
  }

  missing(): Error {
    const place = { session: this.#session, first: this.end + 1, last: this.end + 1 };
    return corruptChunk(place, 'a stored row is missing');
  }
}
