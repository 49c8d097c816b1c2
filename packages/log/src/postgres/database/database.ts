import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientBase, type ClientConfig, Pool, types } from 'pg';
import { LogError } from '../../contract/log-error.ts';
import { type FormerSchema, findSchema, migrate } from './migrate.ts';
import { isConnectionLoss, storageError, unknownOutcome } from './storage-error.ts';
import type { Target } from './target.ts';

/** Runs a SQL statement and returns its rows. */
export type Query = <Row>(sql: string, values: readonly unknown[]) => Promise<readonly Row[]>;

/** Options of a `PostgresDatabase`. */
export interface DatabaseOptions {
  readonly target: Target;
  /**
   * An earlier default schema. It is used if it has the tables and the schema of `target` has none.
   * Default: none.
   */
  readonly formerSchema?: FormerSchema | undefined;
  /** SQL scripts. Each one migrates the tables from the previous version to the next. */
  readonly migrations: readonly string[];
  /** Called once when the tables exist in the current version. Default: nothing. */
  readonly onReady?: ((target: Target, client: ClientBase) => Promise<void>) | undefined;
  /** How long to retry while the server cannot be reached, in milliseconds. */
  readonly retryMs: number;
  /** Maximum number of connections for reading. One more writes and one more listens. */
  readonly maxReaders: number;
}

const retryPausesMs = { first: 20, longest: 1000 };
const closingRetryMs = 2000;

/**
 * Access to a Postgres database: a connection pool for reading, migrations, and retries during
 * outages.
 */
export class Database {
  #target: Target;
  readonly #options: DatabaseOptions;
  readonly #pool: Pool;
  readonly #closed = new AbortController();
  #ready: Promise<void> | undefined;
  /** A server that never answered is not retried, because the URL may be wrong. */
  #hasAnswered = false;
  /** Number of operations without an answer. */
  #pendingQueries = 0;
  /** Deadline for retries once the database is about to close. */
  #closeDeadline = Number.POSITIVE_INFINITY;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#target = options.target;
    const max = options.maxReaders;
    this.#pool = new Pool({ ...clientConfig(options.target), max, allowExitOnIdle: true });
    // The pool removes an idle connection that breaks. The next query uses another one.
    this.#pool.on('error', () => {});
    // A connection that breaks during a query rejects that query. Without a listener, the error
    // event would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  /** The database and its schema. The schema is certain only after `ready`. */
  get target(): Target {
    return this.#target;
  }

  /** True after `close`. */
  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** Resolves when the tables exist in the current version. */
  ready(): Promise<void> {
    this.#ready ??= this.#setUp().catch((error: unknown) => {
      // The next caller tries again.
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /**
   * Runs a query on a connection of the pool and retries if the connection is lost. Use it only for
   * queries that change nothing. A query with a name becomes a prepared statement. `sql` is called
   * when the schema is known.
   */
  read<Row>(
    sql: string | (() => string),
    values: readonly unknown[],
    name?: string,
  ): Promise<readonly Row[]> {
    const named = name === undefined ? {} : { name };
    return this.withRetries(async () => {
      await this.ready();
      const text = typeof sql === 'string' ? sql : sql();
      const { rows } = await this.#pool.query({ text, values: [...values], ...named });
      return rows as readonly Row[];
    });
  }

  /**
   * Runs a short transaction on a connection of the pool and retries if the connection is lost. If
   * that happens during the commit, the outcome is unknown and the call throws.
   */
  transact<T>(work: (ask: Query) => Promise<T>): Promise<T> {
    return this.withRetries(async () => {
      await this.ready();
      const client = await this.#pool.connect();
      const ask: Query = async (sql, values) => (await client.query(sql, [...values])).rows;
      try {
        await client.query('BEGIN');
        const value = await work(ask);
        await this.#commit(client);
        client.release();
        return value;
      } catch (error) {
        // A connection that cannot roll back is discarded.
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
    return connect(this.target, config);
  }

  /** True if no operation is pending. */
  get isIdle(): boolean {
    return this.#pendingQueries === 0;
  }

  /** Runs the work and retries it while the connection fails, up to `retryMs`. */
  async withRetries<T>(work: () => Promise<T>): Promise<T> {
    this.#pendingQueries++;
    try {
      return await this.#retry(work);
    } finally {
      this.#pendingQueries--;
    }
  }

  async #retry<T>(work: () => Promise<T>): Promise<T> {
    const begunAt = performance.now();
    for (
      let pauseMs = retryPausesMs.first;
      ;
      pauseMs = Math.min(2 * pauseMs, retryPausesMs.longest)
    ) {
      if (this.isClosed) throw closedDatabase(this.target);
      try {
        return await work();
      } catch (error) {
        const deadline = Math.min(begunAt + this.#options.retryMs, this.#closeDeadline);
        const isTooLate = performance.now() + pauseMs > deadline;
        if (this.isClosed) throw closedDatabase(this.target, error);
        if (!isConnectionLoss(error) || !this.#hasAnswered || isTooLate)
          throw storageError(error, this.target);
      }
      await this.pause(pauseMs);
    }
  }

  /** Waits. Ends early when the database is closed. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closed.signal }).catch(() => {});
  }

  /** Call before closing. From now on an unreachable server is retried only briefly. */
  prepareClose(): void {
    this.#closeDeadline = Math.min(this.#closeDeadline, performance.now() + closingRetryMs);
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.#closed.abort();
    await waitBriefly(this.#pool.end());
  }

  async #setUp(): Promise<void> {
    const client = await connect(this.target);
    try {
      this.#hasAnswered = true;
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

/** Query timeout, for servers that are stopped or unreachable. */
const answerTimeoutMs = 30_000;
/** How long a stalled process can block a session inside a transaction. */
const idleInTransactionMs = 5_000;
/**
 * Longer than `idleInTransactionMs`, so that a process that waits for a stalled one gets the lock.
 */
const lockTimeoutMs = 10_000;
const connectTimeoutMs = 5_000;

const int8 = 20;

/** Parses bigint columns as numbers. The driver returns strings by default. */
const numbers = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === int8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

/**
 * A client with two methods that the driver's types lack: they control whether the connection keeps
 * the process alive.
 */
export type Connection = Client & { ref(): void; unref(): void };

/** The settings of every connection. */
function clientConfig(target: Target): ClientConfig {
  return {
    connectionString: target.url,
    application_name: `millrace ${target.schema}`,
    types: numbers,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: answerTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  };
}

/** Opens a separate connection. */
async function connect(target: Target, config: { pipeline?: boolean } = {}): Promise<Connection> {
  const client = new Client({ ...clientConfig(target), ...config }) as Connection;
  // The next query reports the error. Without a listener, the error event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await waitBriefly(client.end());
    throw error;
  }
}

/** A server that is stopped or unreachable does not confirm the end of a connection. */
const closeTimeoutMs = 1_000;

/**
 * Waits until the work settles, but not longer than a second. The timer keeps the process alive
 * meanwhile.
 */
export async function waitBriefly(work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, closeTimeoutMs);
  const done = () => {};
  await Promise.race([work.then(done, done), late]);
  clearTimeout(timer);
}
