import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientBase, type ClientConfig, Pool, type PoolConfig, types } from 'pg';
import { LogError } from '../../contract/log-error.ts';
import { beginTransaction, idleInTransactionMs, lockTimeoutMs } from './advisory-locks.ts';
import { type FormerSchema, findSchema, migrate } from './migrate.ts';
import { isConnectionLoss, storageError, unknownOutcome } from './storage-error.ts';
import type { Target } from './target.ts';

/** Runs a SQL statement and returns its rows. */
export type Query = <Row>(sql: string, values: readonly unknown[]) => Promise<readonly Row[]>;

/** Options of `Database`. */
export interface DatabaseOptions {
  readonly target: Target;
  /**
   * A schema that was the default in earlier versions. It is used if it has the tables and the schema of
   * `target` does not have them. Default: none.
   */
  readonly formerSchema?: FormerSchema | undefined;
  /**
   * The connection URL for notifications, without a connection pooler. Default: the URL of `target`, unless
   * that URL belongs to a pooler.
   */
  readonly directUrl?: string | undefined;
  /** SQL scripts. Each script migrates the tables to the next version. */
  readonly migrations: readonly string[];
  /** Called once, after the tables were created or migrated. Default: none. */
  readonly onReady?: ((target: Target, client: ClientBase) => Promise<void>) | undefined;
  /** The time in milliseconds for which to retry while the server does not answer. */
  readonly retryMs: number;
  /**
   * Maximum number of connections for reading. There is one more for writing and one more for
   * notifications.
   */
  readonly maxReaders: number;
}

const retryPausesMs = { first: 20, longest: 1000 };
const closingRetryMs = 2000;

/**
 * Gives access to a Postgres database. It has a connection pool for reading, runs migrations, and retries
 * during outages.
 */
export class Database {
  #target: Target;
  readonly #options: DatabaseOptions;
  /** The connection pool. `ready` creates it, because its settings depend on the server. */
  #pool: Pool | undefined;
  readonly #closed = new AbortController();
  #ready: Promise<void> | undefined;
  /**
   * True after the first answer of the server. Before the first answer, no operation is retried, because the
   * URL may be wrong.
   */
  #hasAnswered = false;
  #isPooled = false;
  /** The number of operations that have not finished. */
  #pendingQueries = 0;
  /** The time at which retries end because the database is about to close. */
  #closeDeadline = Number.POSITIVE_INFINITY;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#target = options.target;
  }

  /** The database and its schema. The schema is final only after `ready`. */
  get target(): Target {
    return this.#target;
  }

  /** True after `close`. */
  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /**
   * True if a connection pooler may use a different connection for each transaction. In this case, features
   * of a single connection, such as named statements, must not be used. The value is final after `ready`.
   */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  /** The statements that begin a transaction. The value is final after `ready`. */
  get begin(): string {
    return this.#isPooled ? beginTransaction : 'BEGIN';
  }

  /** Resolves when the tables exist in the current version. */
  ready(): Promise<void> {
    this.#ready ??= this.#setUp().catch((error: unknown) => {
      // The failed attempt is forgotten, so that the next call tries again.
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /**
   * Runs a query on a connection of the pool, and retries it if the connection is lost. Use it only for
   * queries that do not change data. A query with a name becomes a prepared statement, unless a connection
   * pooler is used. If `sql` is a function, `read` calls it after the schema is known.
   */
  read<Row>(
    sql: string | (() => string),
    values: readonly unknown[],
    name?: string,
  ): Promise<readonly Row[]> {
    return this.withRetries(async () => {
      await this.ready();
      const named = name === undefined || this.#isPooled ? {} : { name };
      const text = typeof sql === 'string' ? sql : sql();
      const { rows } = await this.#readyPool().query({ text, values: [...values], ...named });
      return rows as readonly Row[];
    });
  }

  /**
   * Runs a short transaction on a connection of the pool, and retries it if the connection is lost. If the
   * connection is lost during the commit, the outcome is unknown and the call throws.
   */
  transact<T>(work: (ask: Query) => Promise<T>): Promise<T> {
    return this.withRetries(async () => {
      await this.ready();
      const client = await this.#readyPool().connect();
      const ask: Query = async (sql, values) => (await client.query(sql, [...values])).rows;
      try {
        await client.query(this.begin);
        const value = await work(ask);
        await this.#commit(client);
        client.release();
        return value;
      } catch (error) {
        // If the rollback fails, the connection is discarded.
        const isLeft = await client.query('ROLLBACK').then(
          () => false,
          () => true,
        );
        client.release(isLeft);
        throw error;
      }
    });
  }

  async #commit(client: ClientBase): Promise<void> {
    try {
      await client.query('COMMIT');
    } catch (error) {
      throw isConnectionLoss(error) ? unknownOutcome(error, this.target) : error;
    }
  }

  /** Opens a separate connection. The caller must end it. */
  async connect(config: { readonly pipeline?: boolean } = {}): Promise<Connection> {
    await this.ready();
    return connect(this.target, { ...config, ...this.#timeouts });
  }

  /**
   * Opens a separate connection for notifications. Returns undefined if only a connection pooler answers,
   * because a pooler does not forward notifications.
   */
  async connectDirectly(): Promise<Connection | undefined> {
    await this.ready();
    const { directUrl } = this.#options;
    if (directUrl === undefined && this.#isPooled) return undefined;
    const client = await connect({ ...this.target, url: directUrl ?? this.target.url });
    if (!(await isPooled(client))) return client;
    await waitBriefly(client.end());
    return undefined;
  }

  /** True if no operation is pending. */
  get isIdle(): boolean {
    return this.#pendingQueries === 0;
  }

  /**
   * Runs the work and retries it while the connection fails, up to `retryMs`. If this process was suspended for
   * longer than that, Postgres has closed the connection meanwhile. The work therefore gets a second try in any
   * case, except with a `retryMs` of 0.
   */
  async withRetries<T>(work: () => Promise<T>): Promise<T> {
    this.#pendingQueries++;
    try {
      return await this.#retry(work);
    } finally {
      this.#pendingQueries--;
    }
  }

  async #retry<T>(work: () => Promise<T>): Promise<T> {
    const { retryMs } = this.#options;
    const begunAt = performance.now();
    let isFirst = retryMs > 0;
    for (
      let pauseMs = retryPausesMs.first;
      ;
      pauseMs = Math.min(2 * pauseMs, retryPausesMs.longest)
    ) {
      if (this.isClosed) throw closedDatabase(this.target);
      try {
        return await work();
      } catch (error) {
        const ownDeadline = isFirst ? Number.POSITIVE_INFINITY : begunAt + retryMs;
        const deadline = Math.min(ownDeadline, this.#closeDeadline);
        const isTooLate = performance.now() + pauseMs > deadline;
        isFirst = false;
        if (this.isClosed) throw closedDatabase(this.target, error);
        if (!isConnectionLoss(error) || !this.#hasAnswered || isTooLate)
          throw storageError(error, this.target);
      }
      await this.pause(pauseMs);
    }
  }

  /** Waits for some milliseconds. Returns early if the database is closed. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closed.signal }).catch(() => {});
  }

  /** Limits the retries of an unreachable server to a short time. Call it before closing. */
  prepareClose(): void {
    this.#closeDeadline = Math.min(this.#closeDeadline, performance.now() + closingRetryMs);
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.#closed.abort();
    if (this.#pool !== undefined) await waitBriefly(this.#pool.end());
  }

  /**
   * The timeouts of a connection. With a pooler, a connection has no timeouts, because a pooler refuses these
   * settings.
   */
  get #timeouts(): ClientConfig {
    return this.#isPooled ? {} : sessionTimeouts;
  }

  #readyPool(): Pool {
    this.#pool ??= createPool({
      ...{ ...clientConfig(this.target), ...this.#timeouts },
      ...{ max: this.#options.maxReaders, allowExitOnIdle: true },
    });
    return this.#pool;
  }

  async #setUp(): Promise<void> {
    const client = await connect(this.target);
    try {
      this.#hasAnswered = true;
      this.#isPooled = await isPooled(client);
      const { formerSchema, migrations, onReady } = this.#options;
      this.#target = await findSchema(client, this.#options.target, formerSchema);
      await migrate(client, this.#target, migrations);
      await onReady?.(this.#target, client);
    } finally {
      await waitBriefly(client.end());
    }
  }
}

function closedDatabase({ what }: Target, cause?: unknown): LogError {
  const message = `Cannot use ${what}: it is closed. Open it again`;
  return new LogError('closed', message, {}, cause === undefined ? undefined : { cause });
}

/**
 * Maximum time to wait for the answer to a query, in milliseconds. Without it, a query to a stopped or
 * unreachable server would wait forever.
 */
const answerTimeoutMs = 30_000;
const connectTimeoutMs = 5_000;

const int8 = 20;

/** Parses bigint columns as numbers. By default the driver returns strings. */
const numbers = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === int8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

/**
 * A client with methods that are missing in the types of `pg`. `ref` and `unref` set whether the connection
 * keeps the process alive.
 */
export type Connection = Client & {
  ref(): void;
  unref(): void;
  /** The process id that the server sent when the connection was opened. */
  readonly processID?: number;
};

const sessionTimeouts: ClientConfig = {
  lock_timeout: lockTimeoutMs,
  idle_in_transaction_session_timeout: idleInTransactionMs,
};

function createPool(config: PoolConfig): Pool {
  const pool = new Pool(config);
  // The pool removes an idle connection that breaks, and the next query uses a different connection. Without
  // a listener, the error event would end the process.
  pool.on('error', () => {});
  // If a connection breaks during a query, the query is rejected. Without a listener, the error event would
  // end the process.
  pool.on('connect', (client) => {
    client.on('error', () => {});
    guardParser(client);
  });
  return pool;
}

/**
 * Returns the settings of every connection. The result contains no settings that the server would apply to
 * the connection, because poolers refuse them.
 */
function clientConfig(target: Target): ClientConfig {
  return {
    connectionString: target.url,
    application_name: `millrace ${target.schema}`,
    types: numbers,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: answerTimeoutMs,
  };
}

/**
 * Returns whether a connection pooler answers. A server sends its real process id to each client, but a
 * pooler sends a different number.
 */
async function isPooled(client: Connection): Promise<boolean> {
  const { rows } = await client.query<{ readonly pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid !== client.processID;
}

/** Opens a separate connection. */
async function connect(target: Target, config: ClientConfig = {}): Promise<Connection> {
  const client = new Client({ ...clientConfig(target), ...config }) as Connection;
  // The next query throws the error of a broken connection. Without a listener, the error event would end the
  // process.
  client.on('error', () => {});
  try {
    await client.connect();
    guardParser(client);
    return client;
  } catch (error) {
    await waitBriefly(client.end());
    throw error;
  }
}

/** The socket of a client. It is missing in the types of `pg`. */
interface ClientSocket {
  readonly connection?: { readonly stream?: Socket };
}

/**
 * Ends the connection and its query if the parser of `pg` throws. The parser runs in an event handler of the
 * socket, so the error would otherwise end the process. For example, the parser throws if an answer is longer
 * than the longest possible string.
 */
function guardParser(client: ClientBase): void {
  const { stream } = (client as ClientBase & ClientSocket).connection ?? {};
  if (stream === undefined) return;
  for (const parse of stream.listeners('data')) {
    stream.on('data', (bytes) => {
      try {
        parse.call(stream, bytes);
      } catch (error) {
        stream.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
    stream.off('data', parse as (bytes: Buffer) => void);
  }
}

/**
 * Maximum time to wait until a connection has ended, in milliseconds. A server that is stopped or
 * unreachable does not confirm the end.
 */
const closeTimeoutMs = 1_000;

/**
 * Waits until the work settles, but at most one second. The timer keeps the process alive during this time.
 */
export async function waitBriefly(work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, closeTimeoutMs);
  const done = () => {};
  await Promise.race([work.then(done, done), late]);
  clearTimeout(timer);
}
