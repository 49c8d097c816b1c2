import type { LogRecord, SessionId } from '@millrace/core';
import {
  type ChunkRange,
  corruptChunk,
  decodeChunk,
  encodeChunks,
} from '../storage/chunk-codec.ts';
import { textChecksum } from './checked-rows.ts';
import type { Statements } from './statements.ts';

/** A session id, and the number of the session's row in the file. */
interface SessionKey {
  readonly session: SessionId;
  readonly key: number;
}

/** The approximate memory of a decoded record without its content, in bytes. */
const recordOverheadBytes = 100;

type Row = Readonly<Record<string, unknown>>;

/**
 * Reads and writes the rows that contain records. Each row covers every offset from `first` to `last`. The
 * next row starts at the offset after `last`, so a missing row is detected.
 */
export class ChunkTable {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Appends records after the existing records. */
  append(key: number, records: readonly LogRecord[]): void {
    const [first] = records;
    const last = records.at(-1);
    if (first !== undefined && last !== undefined)
      this.#write(key, first.offset, last.offset, records);
  }

  read({ session, key }: SessionKey, after: number, maxBytes: number): readonly LogRecord[] {
    const found: LogRecord[] = [];
    let end = after;
    let bytes = 0;
    for (const row of this.#statements.chunks.iterate(key, after)) {
      const range = checkedRange(row, { session, key });
      const follows = end === after ? range.first <= end + 1 : range.first === end + 1;
      if (!follows) throw missingRow(session, end);
      const body = String(row['body']);
      const records = decodeChunk(body, range);
      for (const record of records) if (record.offset > after) found.push(record);
      end = range.last;
      bytes += body.length + records.length * recordOverheadBytes;
      // All records of a row can be at or before the start offset. A page needs at least one record, so the
      // loop then reads the next row.
      if (bytes >= maxBytes && found.length > 0) return found;
    }
    const rest = this.#statements.rest.get(end, key);
    if (rest !== undefined && Number(rest['through']) > end && rest['has_more'] === 0)
      throw missingRow(session, end);
    return found;
  }

  /** Replaces the records from `first` to `last`, including both. Returns the old records. */
  replace(
    owner: SessionKey,
    first: number,
    last: number,
    records: readonly LogRecord[],
  ): readonly LogRecord[] {
    const rows = this.#statements.overlapping.all(owner.key, first, last);
    const ranges = rows.map((row) => checkedRange(row, owner));
    const around = rows.flatMap((row, index) => {
      const range = ranges[index];
      return range === undefined ? [] : decodeChunk(String(row['body']), range);
    });
    for (const range of ranges) this.#statements.dropChunk.run(owner.key, range.last);
    const from = Math.min(first, ranges[0]?.first ?? first);
    const to = Math.max(last, ranges.at(-1)?.last ?? last);
    const before = around.filter(({ offset }) => offset < first);
    const after = around.filter(({ offset }) => offset > last);
    this.#write(owner.key, from, to, [...before, ...records, ...after]);
    return around.filter(({ offset }) => offset >= first && offset <= last);
  }

  #write(key: number, first: number, last: number, records: readonly LogRecord[]): void {
    let next = first;
    const put = (end: number, body: string) => {
      this.#statements.putChunk.run(key, end, next, textChecksum(body, [key, next, end]), body);
      next = end + 1;
    };
    const chunks = encodeChunks(records);
    for (const { last: end, body } of chunks.slice(0, -1)) put(end, body);
    put(last, chunks.at(-1)?.body ?? '');
  }
}

/** Checks the checksum of a row and returns the offsets that the row covers. */
function checkedRange(row: Row, { session, key }: SessionKey): ChunkRange {
  const { first, last, body, sum } = row;
  const isSound =
    typeof first === 'number' &&
    typeof last === 'number' &&
    typeof body === 'string' &&
    textChecksum(body, [key, first, last]) === sum;
  if (isSound) return { session, first, last };
  throw corruptChunk(
    { session, first: Number(first), last: Number(last) },
    'its checksum does not match',
  );
}

function missingRow(session: SessionId, end: number): Error {
  return corruptChunk({ session, first: end + 1, last: end + 1 }, 'a stored row is missing');
}
