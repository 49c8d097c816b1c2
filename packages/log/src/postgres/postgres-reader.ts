import { hash as digest } from 'node:crypto';
import type { LogRecord, SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import { ChunkReader, type ChunkRow } from '../storage/chunk-rows.ts';
import type { LogReader, RecordPage, SessionRowFilter } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { fromColumns } from '../storage/session-row.ts';
import type { ChangeListener } from './change-listener.ts';
import type { LogDatabase } from './database/log-database.ts';
import type { FoundSession } from './database/statements.ts';

/** Rows per query, for records and for sessions. */
const chunksPerQuery = 500;
const sessionsPerQuery = 1000;
/** A rewrite during a page is rare. Many in a row are not expected. */
const maxTries = 20;

interface PageRow extends Omit<ChunkRow, 'last'>, FoundSession {
  /** Null if there is no chunk after the offset. */
  readonly last: number | null;
}

/** What the reader needs of the database, and of the listener for changes. */
type ReadableDatabase = Pick<LogDatabase, 'read' | 'statements' | 'close'>;
type ChangeSource = Pick<ChangeListener, 'watch' | 'close'>;

/** The reading side of a log in Postgres. */
export class PostgresReader implements LogReader {
  readonly #database: ReadableDatabase;
  readonly #listener: ChangeSource;
  readonly #loader: SessionLoader;

  constructor(database: ReadableDatabase, listener: ChangeSource) {
    this.#database = database;
    this.#listener = listener;
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
    // Postgres text cannot contain U+0000, and no id does. The text before it gives the same
    // position in the order.
    let after = (filter.after ?? '').split('\u0000')[0] ?? '';
    while (found.length < limit) {
      const count = Math.min(sessionsPerQuery, limit - found.length);
      const page = await this.#database.read<FoundSession>(sql, [after, isClosed, count]);
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
    if (!isHash(hash)) return undefined;
    const sql = () => this.#database.statements.blob;
    const [row] = await this.#database.read<{ bytes: Uint8Array }>(sql, [hash]);
    if (row === undefined) return undefined;
    if (digest('sha256', row.bytes) === hash) return new Uint8Array(row.bytes);
    const message = `Cannot read blob ${hash}: its content does not match its hash. Restore a backup`;
    throw new LogError('corrupt', message, { hash });
  }

  async blobSlice(hash: string, start: number, end: number): Promise<Uint8Array | undefined> {
    if (!isHash(hash)) return undefined;
    const sql = () => this.#database.statements.blobSlice;
    // Postgres counts bytes from 1 and uses 32-bit numbers.
    const [from, most] = [
      Math.min(start, maxInt - 1) + 1,
      Math.max(0, Math.min(end, maxInt) - start),
    ];
    const length = Math.min(most, maxInt - from);
    const [row] = await this.#database.read<{ bytes: Uint8Array }>(sql, [hash, from, length]);
    return row && new Uint8Array(row.bytes);
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

/** Returns true once there are enough bytes. */
function addChunks(reader: ChunkReader, rows: readonly PageRow[], maxBytes: number): boolean {
  for (const { first, last, body } of rows) {
    if (last === null) continue;
    reader.add({ first, last, body });
    // The rest of a row may have no records. The page must contain at least one, so continue.
    if (reader.bytes >= maxBytes && reader.records.length > 0) return true;
  }
  return false;
}

const maxInt = 2 ** 31 - 1;

function isHash(hash: string): boolean {
  return /^[0-9a-f]{64}$/.test(hash);
}

type Load = (sessions: readonly SessionId[]) => Promise<ReadonlyMap<SessionId, SessionRow>>;

/** Combines concurrent reads of session rows into one query. */
class SessionLoader {
  readonly #load: Load;
  /** The ids of the next query, and its result. */
  #next: { readonly sessions: Set<SessionId>; readonly found: ReturnType<Load> } | undefined;

  constructor(load: Load) {
    this.#load = load;
  }

  async get(session: SessionId): Promise<SessionRow | undefined> {
    this.#next ??= this.#collect();
    const { sessions, found } = this.#next;
    sessions.add(session);
    return (await found).get(session);
  }

  #collect() {
    const sessions = new Set<SessionId>();
    const ask = async () => {
      // Runs after all current callers have added their ids.
      await Promise.resolve();
      this.#next = undefined;
      return this.#load([...sessions]);
    };
    return { sessions, found: ask() };
  }
}
