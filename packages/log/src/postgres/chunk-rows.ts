import type { LogRecord, SessionId } from '@millrace/core';
import { corruptChunk, decodeChunk, encodeChunks } from '../storage/chunk-codec.ts';

/** A row that holds records: all that there is from its first offset to its last, holes included. */
export interface ChunkRow {
  readonly first: number;
  readonly last: number;
  readonly body: string;
}

/** What a record takes besides its content once it is read, roughly. */
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

/** Reads chunks in order and notices where one is missing. */
export class ChunkReader {
  readonly records: LogRecord[] = [];
  readonly #session: SessionId;
  readonly #after: number;
  /** Up to where it has read. */
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
