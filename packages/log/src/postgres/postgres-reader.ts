import { hash as digest } from 'node:crypto';
import type { LogRecord, SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import type { SnapshotPart } from '../contract/snapshot-store.ts';
import { blobPieceBytes, piecesOf } from '../storage/blob-pieces.ts';
import { ChunkReader, type ChunkRow } from '../storage/chunk-rows.ts';
import type { LogReader, RecordPage, SessionRowFilter } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { fromColumns } from '../storage/session-row.ts';
import type { ChangeListener } from './change-listener.ts';
import type { LogDatabase } from './database/log-database.ts';
import type { FoundSession, ListedSession } from './database/statements.ts';
import type { ServerClock } from './server-clock.ts';

/** The number of rows per query, for records and for sessions. */
const chunksPerQuery = 500;
const sessionsPerQuery = 1000;
/** The number of snapshot parts per query. */
const partsPerQuery = 16;
/** Maximum number of tries to read a page. A rewrite of the session during a try makes it fail. */
const maxTries = 20;

interface PageRow extends Omit<ChunkRow, 'last'>, FoundSession {
  /** The last offset of the chunk. Null if there is no chunk after the offset. */
  readonly last: number | null;
}

/** The methods of the database and of the change listener that the reader uses. */
type ReadableDatabase = Pick<LogDatabase, 'read' | 'statements' | 'close'>;
type ChangeSource = Pick<ChangeListener, 'watch' | 'close'>;

/** Reads a log in Postgres. */
export class PostgresReader implements LogReader {
  readonly #database: ReadableDatabase;
  readonly #listener: ChangeSource;
  readonly #loader: SessionLoader;
  /**
   * The server's time. Each query for a list of sessions updates it, because the list depends on whether
   * leases have expired.
   */
  readonly #clock: ServerClock | undefined;

  constructor(database: ReadableDatabase, listener: ChangeSource, clock?: ServerClock) {
    this.#database = database;
    this.#listener = listener;
    this.#clock = clock;
    this.#loader = new SessionLoader(async (sessions) => {
      const sql = () => database.statements.sessionsById;
      const name = 'millrace sessions';
      const found = await database.read<FoundSession>(sql, [sessions], name);
      return new Map(found.map((fields) => [fields.id as SessionId, toRow(fields)]));
    });
  }

  session(session: SessionId): Promise<SessionRow | undefined> {
    return this.#loader.get(session);
  }

  async sessions(filter: SessionRowFilter): Promise<readonly SessionRow[]> {
    const { isClosed = null, hasWork, limit = Number.POSITIVE_INFINITY } = filter;
    const sql = () => this.#database.statements[hasWork ? 'listWithWork' : 'list'];
    const found: SessionRow[] = [];
    // Postgres text cannot contain U+0000, and no id contains it either. The text before U+0000 has the same
    // position in the order of ids.
    let after = (filter.after ?? '').split('\u0000')[0] ?? '';
    while (found.length < limit) {
      const count = Math.min(sessionsPerQuery, limit - found.length);
      const page = await this.#database.read<ListedSession>(sql, [after, isClosed, count]);
      if (page[0] !== undefined) this.#clock?.set(page[0].now);
      for (const fields of page) found.push(toRow(fields));
      if (page.length < count) break;
      after = page.at(-1)?.id ?? after;
    }
    return found;
  }

  async records(
    session: SessionId,
    after: number,
    maxBytes: number,
  ): Promise<readonly LogRecord[]> {
    return (await this.page(session, after, maxBytes)).records;
  }

  async page(session: SessionId, after: number, maxBytes: number): Promise<RecordPage> {
    for (let tries = 0; tries < maxTries; tries++) {
      const page = await this.#page(session, after, maxBytes);
      if (page !== undefined) return page;
    }
    const message = `Cannot read session ${session} after offset ${after}: it is being rewritten continuously. Try again`;
    throw new LogError('storage', message, { session, offset: after });
  }

  /**
   * Reads a page. Returns `undefined` if the session was rewritten or replaced between two queries.
   */
  async #page(
    session: SessionId,
    after: number,
    maxBytes: number,
  ): Promise<RecordPage | undefined> {
    const reader = new ChunkReader(session, after);
    let version: string | undefined;
    for (;;) {
      const rows = await this.#rows(session, reader.end);
      const [first] = rows;
      const row = first && toRow(first);
      if (row === undefined) return { row, records: reader.records };
      const now = `${row.made} ${row.rewrites} ${row.incarnation}`;
      version ??= now;
      if (version !== now) return undefined;
      const isEnough = addChunks(reader, rows, maxBytes);
      if (isEnough) return { row, records: reader.records };
      if (rows.length < chunksPerQuery) {
        if (reader.end < row.through) throw reader.missing();
        return { row, records: reader.records };
      }
    }
  }

  #rows(session: SessionId, after: number): Promise<readonly PageRow[]> {
    const values = [session, after, chunksPerQuery];
    const sql = () => this.#database.statements.page;
    return this.#database.read<PageRow>(sql, values, 'millrace page');
  }

  async blob(hash: string): Promise<Uint8Array | undefined> {
    const bytes = await this.blobSlice(hash, 0, Number.POSITIVE_INFINITY);
    if (bytes === undefined || digest('sha256', bytes) === hash) return bytes;
    throw corruptBlob(hash, 'its content does not match its hash');
  }

  /** Reads a slice of a blob in several queries, because the length of an answer is limited. */
  async blobSlice(hash: string, start: number, end: number): Promise<Uint8Array | undefined> {
    if (!isHash(hash)) return undefined;
    const first = await this.#blobWindow(hash, start, end);
    if (first === undefined) return undefined;
    const length = Math.max(0, Math.min(end, first.length) - start);
    if (first.bytes.length >= length) return new Uint8Array(first.bytes);
    const slice = new Uint8Array(length);
    slice.set(first.bytes);
    for (let at = first.bytes.length; at < length; ) {
      const next = await this.#blobWindow(hash, start + at, end);
      // Another process has deleted the blob during the read.
      if (next === undefined) return undefined;
      if (next.bytes.length === 0) throw corruptBlob(hash, 'some of its pieces are missing');
      slice.set(next.bytes, at);
      at += next.bytes.length;
    }
    return slice;
  }

  /** Returns the length of the blob, and the first bytes of a slice. */
  async #blobWindow(hash: string, start: number, end: number): Promise<BlobWindow | undefined> {
    const most = Math.max(0, Math.min(end - start, blobWindowBytes));
    const { first, last, offset } = piecesOf(start, start + most);
    // Postgres integers have 32 bits, so larger numbers are replaced by the maximum.
    const [from, ...pieces] = [start + 1, first, last].map((number) => Math.min(number, maxInt));
    const values = [hash, Math.min(from ?? 1, maxInt - most), most, ...pieces, offset + 1];
    const sql = () => this.#database.statements.blobSlice;
    const [row] = await this.#database.read<BlobWindow>(sql, values);
    return row && { length: row.length, bytes: row.bytes ?? new Uint8Array() };
  }

  async snapshotParts(
    session: SessionId,
    from: number,
    maxBytes: number,
  ): Promise<readonly SnapshotPart[]> {
    const found: SnapshotPart[] = [];
    let bytes = 0;
    for (let next = from; bytes < maxBytes; ) {
      // Most callers first read only part 0, to find out which other parts they need.
      const most = next === 0 ? 1 : partsPerQuery;
      const sql = () => this.#database.statements.snapshotParts;
      const rows = await this.#database.read<SnapshotPart>(sql, [session, next, most]);
      for (const { part, body } of rows) {
        if (bytes >= maxBytes) break;
        found.push({ part, body });
        bytes += body.length;
        next = part + 1;
      }
      if (rows.length < most) break;
    }
    return found;
  }

  watch(listener: (sessions?: readonly SessionId[]) => void): () => void {
    return this.#listener.watch(listener);
  }

  async close(): Promise<void> {
    await this.#listener.close();
    await this.#database.close();
  }
}

function toRow(fields: FoundSession): SessionRow {
  return fromColumns(fields, fields.incarnation);
}

/** Adds the rows to the reader. Returns true once the reader has enough bytes. */
function addChunks(reader: ChunkReader, rows: readonly PageRow[], maxBytes: number): boolean {
  for (const { first, last, body } of rows) {
    if (last === null) continue;
    reader.add({ first, last, body });
    // All records of a row can be at or before the start offset. A page needs at least one record, so the loop
    // then reads the next row.
    if (reader.bytes >= maxBytes && reader.records.length > 0) return true;
  }
  return false;
}

const maxInt = 2 ** 31 - 1;

/** The number of bytes of a blob that one query reads. */
const blobWindowBytes = 16 * blobPieceBytes;

interface BlobWindow {
  readonly length: number;
  readonly bytes: Uint8Array;
}

function corruptBlob(hash: string, why: string): LogError {
  const message = `Cannot read blob ${hash}: ${why}. Restore a backup`;
  return new LogError('corrupt', message, { hash });
}

function isHash(hash: string): boolean {
  return /^[0-9a-f]{64}$/.test(hash);
}

type Load = (sessions: readonly SessionId[]) => Promise<ReadonlyMap<SessionId, SessionRow>>;

/** The sessions that one query reads, and the result of that query. */
interface SessionGroup extends PromiseWithResolvers<ReadonlyMap<SessionId, SessionRow>> {
  readonly sessions: Set<SessionId>;
}

/**
 * Maximum number of queries for session rows at the same time. Hundreds of runs look for new records at
 * almost the same time, and one query for all of them costs little more than a query for one.
 */
const maxSessionQueries = 2;

/**
 * Combines reads of session rows into one query. Reads that arrive while enough queries are in progress wait
 * for the next query, so that each read returns all rows that were committed before it.
 */
class SessionLoader {
  readonly #load: Load;
  /** The group of the next query. */
  #next: SessionGroup | undefined;
  #queries = 0;

  constructor(load: Load) {
    this.#load = load;
  }

  async get(session: SessionId): Promise<SessionRow | undefined> {
    if (this.#next === undefined) {
      this.#next = { sessions: new Set(), ...Promise.withResolvers() };
      // Waits until all callers in the current microtask have added their ids.
      queueMicrotask(() => this.#start());
    }
    const { sessions, promise } = this.#next;
    sessions.add(session);
    return (await promise).get(session);
  }

  #start(): void {
    const group = this.#next;
    if (group === undefined || this.#queries >= maxSessionQueries) return;
    this.#next = undefined;
    this.#queries++;
    const end = () => {
      this.#queries--;
      this.#start();
    };
    this.#load([...group.sessions])
      .then(group.resolve, group.reject)
      .finally(end);
  }
}
