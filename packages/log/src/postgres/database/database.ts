import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientBase, type ClientConfig, Pool, types } from 'pg';
import { LogError } from '../../contract/log-error.ts';
import { migrate } from './migrate.ts';
import { isConnectionLoss, storageError, unknownOutcome } from './storage-error.ts';
import type { Target } from './target.ts';

/** Asks the database something and gives the rows. */
export type Ask = <Row>(sql: string, values: readonly unknown[]) => Promise<readonly Row[]>;

export interface DatabaseOptions {
  readonly target: Target;
  /** Each brings the tables of the version before to the next one. */
  readonly migrations: readonly string[];
  /** How long a server that is gone is waited for. */
  readonly retryMs: number;
  /** For reading; one more writes, and one listens. */
  readonly maxReaders: number;
}

const retryPausesMs = { first: 20, longest: 1000 };
const closingRetryMs = 2000;

/** The way to Postgres: connections for reading, and what makes up for a server that is gone for a while. */
export class Database {
  readonly target: Target;
  readonly #options: DatabaseOptions;
  readonly #pool: Pool;
  readonly #closed = new AbortController();
  #ready: Promise<void> | undefined;
  /** Who was never there is not waited for: the url may be wrong. */
  #hasAnswered = false;
  /** How much is asked and not answered. */
  #pendingQueries = 0;
  /** Until when a server that is gone is waited for, because this is about to be closed. */
  #closeDeadline = Number.POSITIVE_INFINITY;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.target = options.target;
    const max = options.maxReaders;
    this.#pool = new Pool({ ...clientConfig(options.target), max, allowExitOnIdle: true });
    // One that breaks while nobody uses it is taken out; the next question takes another.
    this.#pool.on('error', () => {});
    // One that breaks while somebody has it says so to what he asks; unheard it would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** Resolves when the tables are there. */
  ready(): Promise<void> {
    this.#ready ??= this.#setUp().catch((error: unknown) => {
      // Whoever comes next tries again.
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /**
   * Asks in a connection of the pool, and again where that was lost. Only for what changes nothing. What
   * is asked often has a name, by which the server keeps what it made of it.
   */
  read<Row>(text: string, values: readonly unknown[], name?: string): Promise<readonly Row[]> {
    const named = name === undefined ? {} : { name };
    return this.retrying(async () => {
      await this.ready();
      const { rows } = await this.#pool.query({ text, values: [...values], ...named });
      return rows as readonly Row[];
    });
  }

  /**
   * A short transaction in a connection of the pool. It is done again where the connection was lost,
   * unless that was at the commit: then nobody knows, and that is what is told.
   */
  transact<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    return this.retrying(async () => {
      await this.ready();
      const client = await this.#pool.connect();
      const ask: Ask = async (sql, values) => (await client.query(sql, [...values])).rows;
      try {
        await client.query('BEGIN');
        const value = await work(ask);
        await this.#commit(client);
        client.release();
        return value;
      } catch (error) {
        // Where it cannot even be rolled back, it is of no more use.
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

  /** A connection of one's own, to be ended by whoever asked for it. */
  async connect(config: { readonly pipeline?: boolean } = {}): Promise<Connection> {
    await this.ready();
    return connect(this.target, config);
  }

  get isQuiet(): boolean {
    return this.#pendingQueries === 0;
  }

  /** Does it until it is done, for a while, where nothing but the way there fails. */
  async retrying<T>(work: () => Promise<T>): Promise<T> {
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

  /** Ends early when it is closed. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closed.signal }).catch(() => {});
  }

  /** It is about to be closed: from now on a server that is gone is waited for briefly, once for all. */
  hurry(): void {
    this.#closeDeadline = Math.min(this.#closeDeadline, performance.now() + closingRetryMs);
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.#closed.abort();
    await waitBriefly(this.#pool.end());
  }

  async #setUp(): Promise<void> {
    const client = await connect(this.target);
    try {
      this.#hasAnswered = true;
      await migrate(client, this.target, this.#options.migrations);
    } finally {
      await waitBriefly(client.end());
    }
  }
}

function closedDatabase({ what }: Target, cause?: unknown): LogError {
  const message = `Cannot use ${what} that was closed. Open it again`;
  return new LogError('closed', message, {}, cause === undefined ? undefined : { cause });
}

/** How long an answer is waited for; a server that is stopped or cut off gives none. */
const answerTimeoutMs = 30_000;
/** How long one who stands still within a transaction may keep the others from a session. */
const idleInTransactionMs = 5_000;
/** Longer than that: whoever waits for one who stands still gets what he waits for. */
const lockTimeoutMs = 10_000;
const connectTimeoutMs = 5_000;

const int8 = 20;

/** Offsets and times are numbers here; what Postgres calls bigint would be a text. */
const numbers = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === int8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

/** With what its types do not tell of: whether it keeps its process alive. */
export type Connection = Client & { ref(): void; unref(): void };

/** What every connection is made with. */
export function clientConfig(target: Target): ClientConfig {
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

/** A connection of one's own. */
export async function connect(
  target: Target,
  config: { pipeline?: boolean } = {},
): Promise<Connection> {
  const client = new Client({ ...clientConfig(target), ...config }) as Connection;
  // It is told by whatever is asked next; without a listener it would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await waitBriefly(client.end());
    throw error;
  }
}

/** A server that is stopped or cut off says no goodbye. */
const closeTimeoutMs = 1_000;

/** When it has ended, well or not, or when it takes too long. The process stays for that, whatever it waits for. */
export async function waitBriefly(work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, closeTimeoutMs);
  const done = () => {};
  await Promise.race([work.then(done, done), late]);
  clearTimeout(timer);
}
