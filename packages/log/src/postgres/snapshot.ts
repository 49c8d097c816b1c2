import type { LogRecord } from '@millrace/core';
import type { SessionInfo } from '../contract/session-info.ts';
import { sessionInfo, visibleSessions } from '../storage/session-row.ts';
import type { Connection, Query } from './database/database.ts';
import { LogDatabase } from './database/log-database.ts';
import { storageError } from './database/storage-error.ts';
import { targetOf } from './database/target.ts';
import { PostgresReader } from './postgres-reader.ts';

/** Options of `postgresSnapshot`. */
export interface PostgresSnapshotOptions {
  /** The connection URL of the database. */
  readonly url: string;
  /** The schema of the log's tables. Default: the same as for `postgresLog`. */
  readonly schema?: string | undefined;
}

/** A session and its records, as they were at the moment of the snapshot. */
export interface SnapshotSession {
  readonly info: SessionInfo;
  readonly records: readonly LogRecord[];
}

/** The content of a log in Postgres at one moment. Writers can continue to write. */
export interface PostgresSnapshot extends AsyncDisposable {
  /** Returns all sessions, one after the other. */
  sessions(): AsyncGenerator<SnapshotSession>;
  /** Returns the hashes of all blobs. */
  blobHashes(): Promise<readonly string[]>;
  /** Returns the bytes of a blob, or undefined if it does not exist. */
  blob(hash: string): Promise<Uint8Array | undefined>;
  /**
   * Runs a query on other tables of the same database. The query sees the tables as they were at the moment
   * of the snapshot.
   */
  readonly query: Query;
  /** Ends the snapshot and its connection. */
  close(): Promise<void>;
}

/**
 * Opens a snapshot of a log in Postgres, for a backup. Close it soon, because Postgres cannot clean up old
 * rows while the snapshot is open.
 *
 * @example await using snapshot = await postgresSnapshot({ url });
 */
export async function postgresSnapshot(
  options: PostgresSnapshotOptions,
): Promise<PostgresSnapshot> {
  const target = targetOf('a log', options.url, options.schema ?? 'millrace_log');
  const formerSchema = options.schema === undefined ? formerDefault : undefined;
  const database = new LogDatabase({ target, formerSchema, retryMs: 0, maxReaders: 1 });
  let client: Connection | undefined;
  const close = async () => {
    await client?.end().catch(() => {});
    await database.close();
  };
  try {
    // This call creates or migrates the tables, and finds their schema.
    await database.withRetries(() => database.ready());
    const connected = await database.connect();
    client = connected;
    await connected.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // The transaction is idle while the backup is written, so it must not time out.
    await connected.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    const query: Query = async (sql, values) => {
      const result = await connected.query(sql, [...values]).catch((error: unknown) => {
        throw storageError(error, target);
      });
      return result.rows;
    };
    const reader = new PostgresReader(new SnapshotDatabase(database, query), noChanges);
    return { ...readingFrom(reader, database, query), query, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw storageError(error, target);
  }
}

/** The schema that earlier versions used by default. */
const formerDefault = { name: 'millrace', table: 'sessions' };

const noChanges = { watch: () => () => {}, close: async () => {} };

/** Lets a reader use the connection of the snapshot instead of the connection pool. */
class SnapshotDatabase {
  readonly #database: LogDatabase;
  readonly #query: Query;

  constructor(database: LogDatabase, query: Query) {
    this.#database = database;
    this.#query = query;
  }

  get statements(): LogDatabase['statements'] {
    return this.#database.statements;
  }

  async read<Row>(
    sql: string | (() => string),
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    return this.#query(typeof sql === 'string' ? sql : sql(), values);
  }

  async close(): Promise<void> {}
}

function readingFrom(reader: PostgresReader, { target }: LogDatabase, query: Query) {
  return {
    async *sessions(): AsyncGenerator<SnapshotSession> {
      for (const row of await reader.sessions(visibleSessions({}))) {
        const records = await reader.records(row.session, 0, Number.POSITIVE_INFINITY);
        yield { info: sessionInfo(row), records };
      }
    },
    async blobHashes(): Promise<readonly string[]> {
      const sql = `SELECT hash FROM ${target.schema}.blobs ORDER BY hash`;
      return (await query<{ readonly hash: string }>(sql, [])).map(({ hash }) => hash);
    },
    blob: (hash: string) => reader.blob(hash),
  };
}
