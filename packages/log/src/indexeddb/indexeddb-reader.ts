import type { LogRecord, SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import { blobHash } from '../storage/blob-references.ts';
import { ChunkReader, type ChunkRow } from '../storage/chunk-rows.ts';
import { firstIncarnation } from '../storage/incarnation.ts';
import type { LogReader, RecordPage, SessionRowFilter } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { fromColumns, hasWork, type SessionColumns, toColumns } from '../storage/session-row.ts';
import type { ChangeChannel } from './change-channel.ts';
import { answerOf, keyRange, keysAfter, type LogDatabase, stores } from './database.ts';
import type { IdbTransaction } from './web-platform.ts';

/** The number of rows per request. */
const chunksPerRequest = 64;
const sessionsPerRequest = 500;

/** The stored form of a session row. */
interface StoredSession {
  readonly key: Uint8Array;
  readonly columns: SessionColumns;
  /** The incarnation. It is missing if the session was stored before incarnations existed. */
  readonly incarnation?: number;
  /** Present only if the session has open work. */
  readonly work?: 1;
}

/** Returns the key of a session, which is the UTF-8 bytes of its id. */
export function sessionKey(session: string): Uint8Array {
  return new TextEncoder().encode(session);
}

/** Converts a session row to its stored form. */
export function toStoredSession(row: SessionRow): StoredSession {
  const columns = toColumns(row);
  const { session, incarnation } = row;
  return { key: sessionKey(session), columns, incarnation, ...(hasWork(row) && { work: 1 }) };
}

/** Reads a session row in a transaction. */
export async function readSession(
  tx: IdbTransaction,
  session: SessionId,
): Promise<SessionRow | undefined> {
  const found = await answerOf(tx.objectStore(stores.sessions).get(sessionKey(session)));
  return found === undefined ? undefined : toSessionRow(found as StoredSession);
}

/**
 * Converts a stored session to its row. A browser restores no backups, so a session always has the
 * incarnation with which it was created.
 */
function toSessionRow({ columns, incarnation = firstIncarnation }: StoredSession): SessionRow {
  return fromColumns(columns, incarnation);
}

/** Reads a log in IndexedDB. */
export class IndexedDbReader implements LogReader {
  readonly #database: LogDatabase;
  readonly #changes: ChangeChannel;

  constructor(database: LogDatabase, changes: ChangeChannel) {
    this.#database = database;
    this.#changes = changes;
  }

  session(session: SessionId): Promise<SessionRow | undefined> {
    return this.#database.transact('readonly', (tx) => readSession(tx, session));
  }

  sessions(filter: SessionRowFilter): Promise<readonly SessionRow[]> {
    const { isClosed, limit = Number.POSITIVE_INFINITY } = filter;
    return this.#database.transact('readonly', async (tx) => {
      const store = tx.objectStore(stores.sessions);
      const source = filter.hasWork ? store.index('work') : store;
      const found: SessionRow[] = [];
      let after = sessionKey(filter.after ?? '');
      while (found.length < limit) {
        const range = filter.hasWork ? keyRangeWithWork(after) : keysAfter(after);
        const page = (await answerOf(
          source.getAll(range, sessionsPerRequest),
        )) as readonly StoredSession[];
        for (const stored of page) {
          after = stored.key;
          const row = toSessionRow(stored);
          if (found.length < limit && (isClosed ?? row.isClosed) === row.isClosed) found.push(row);
        }
        if (page.length < sessionsPerRequest) break;
      }
      return found;
    });
  }

  async records(
    session: SessionId,
    after: number,
    maxBytes: number,
  ): Promise<readonly LogRecord[]> {
    return (await this.page(session, after, maxBytes)).records;
  }

  /** Reads a session row and its records in one transaction, so that both are from the same moment. */
  page(session: SessionId, after: number, maxBytes: number): Promise<RecordPage> {
    return this.#database.transact('readonly', async (tx) => {
      const row = await readSession(tx, session);
      if (row === undefined) return { row, records: [] };
      const reader = new ChunkReader(session, after);
      for (;;) {
        const range = chunksAfter(row.made, reader.end);
        const chunks = await readChunks(tx, range, chunksPerRequest);
        for (const chunk of chunks) {
          reader.add(chunk);
          // All records of a row can be at or before the start offset. A page needs at least one record, so
          // the loop then reads the next row.
          if (reader.bytes >= maxBytes && reader.records.length > 0)
            return { row, records: reader.records };
        }
        if (chunks.length < chunksPerRequest) break;
      }
      if (reader.end < row.through) throw reader.missing();
      return { row, records: reader.records };
    });
  }

  async blob(hash: string): Promise<Uint8Array | undefined> {
    const bytes = await this.#bytes(hash);
    if (bytes === undefined || (await blobHash(new Uint8Array(bytes))) === hash) return bytes;
    const message = `Cannot read blob ${hash}: its content does not match its hash. Restore a backup`;
    throw new LogError('corrupt', message, { hash });
  }

  async blobSlice(hash: string, start: number, end: number): Promise<Uint8Array | undefined> {
    return (await this.#bytes(hash))?.slice(start, end);
  }

  watch(listener: (sessions?: readonly SessionId[]) => void): () => void {
    return this.#changes.watch(listener);
  }

  async close(): Promise<void> {
    this.#changes.close();
    await this.#database.close();
  }

  #bytes(hash: string): Promise<Uint8Array | undefined> {
    return this.#database.transact(
      'readonly',
      (tx) => answerOf(tx.objectStore(stores.blobs).get(hash)) as Promise<Uint8Array | undefined>,
    );
  }
}

/** Returns the range of keys of a session's chunk rows that end after an offset. */
export function chunksAfter(made: number, offset: number): ReturnType<typeof keyRange> {
  return keyRange([made, offset + 1], [made, Number.MAX_SAFE_INTEGER]);
}

/** Reads the rows of records in a range of keys. */
export async function readChunks(
  tx: IdbTransaction,
  range: ReturnType<typeof keyRange>,
  count?: number,
): Promise<readonly ChunkRow[]> {
  return (await answerOf(
    tx.objectStore(stores.chunks).getAll(range, count),
  )) as readonly ChunkRow[];
}

function keyRangeWithWork(after: Uint8Array): ReturnType<typeof keysAfter> {
  return keysAfter([1, after]);
}
