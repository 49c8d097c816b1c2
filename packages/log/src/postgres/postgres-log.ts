import type { Bus } from '../contract/bus.ts';
import type { Clock } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { assertNames } from '../engine/check-options.ts';
import { LeaseJudge } from '../engine/lease-clock.ts';
import { LogContext } from '../engine/log-context.ts';
import { StoreLog } from '../engine/store-log.ts';
import { FeedRegistry } from '../follow/feeds.ts';
import { PrefetchCommitQueue } from '../prefetch/prefetch-commits.ts';
import { currentProcess, isProcessAlive } from '../storage/process-identity.ts';
import type { OnCommitPoint } from '../storage/record-store.ts';
import type { ProcessIdentity } from '../storage/rows.ts';
import { ChangeListener } from './change-listener.ts';
import { blobLocks } from './database/advisory-locks.ts';
import { LogDatabase } from './database/log-database.ts';
import { targetOf } from './database/target.ts';
import { PostgresReader } from './postgres-reader.ts';
import { ServerClock } from './server-clock.ts';
import { PostgresWriter } from './transaction/writer.ts';

/** Options of `postgresLog`. */
export interface PostgresLogOptions {
  /**
   * Connection URL, for example `postgres://user:password@host:5432/database`. Error messages never contain
   * the password.
   */
  readonly url: string;
  /**
   * Connection URL of the server itself. Set it if `url` belongs to a connection pooler, such as PgBouncer in
   * transaction mode. The log uses this URL only for notifications, with one connection while there are
   * followers. Default: `url`. If `url` belongs to a pooler, followers poll instead.
   */
  readonly directUrl?: string | undefined;
  /**
   * The schema of the tables. It is created if it does not exist. It must not have the name of the database
   * user, because Postgres would create the tables of your application in it. Default: `millrace_log`, or
   * `millrace` if an earlier version has created the tables there.
   */
  readonly schema?: string | undefined;
  /** The clock for leases and timestamps. Default: the database server's clock. */
  readonly clock?: Clock | undefined;
  /**
   * Minimum time between two transactions of streamed text of this process, in milliseconds. All other work
   * starts the next transaction as soon as the previous transaction has ended. Default: 20.
   */
  readonly commitIntervalMs?: number | undefined;
  /**
   * Publishes committed records to followers in other processes. The caller must close the bus. Default: no
   * bus.
   */
  readonly bus?: Bus | undefined;
  /**
   * If true, each session gets a hash chain, which `verifySession` checks. A session that already has records
   * gets a chain for its next records. A session with a chain keeps it without this option. Default: false.
   */
  readonly chain?: boolean | undefined;
  /**
   * The time in milliseconds for which to retry while the server does not answer. A server that has never
   * answered is not retried. If the value is not 0, there is at least one retry. Default: 15,000.
   */
  readonly retryMs?: number | undefined;
  /**
   * Maximum number of connections for reading. The log has one additional connection for writing, and one for
   * notifications while there are followers. Default: 4.
   */
  readonly maxReaders?: number | undefined;
  /**
   * The interval in milliseconds at which followers check the store if there is no notification. Default:
   * 1,000.
   */
  readonly pollIntervalMs?: number | undefined;
  /**
   * Called at each commit point of a transaction. Tests use it, for example to kill the process at this
   * point. Default: none.
   */
  readonly onPoint?: OnCommitPoint | undefined;
}

/** A log in Postgres, with maintenance operations. */
export interface PostgresLog extends Log {
  /** The number of transactions since the log was opened, for measurements. */
  readonly transactions: number;
  /**
   * Resolves when the server answers and the tables exist. Calling it is optional, because the first
   * operation waits for the same conditions.
   */
  ready(): Promise<void>;
  /**
   * Deletes blobs that were stored more than a day ago and that no record references. Returns the number of
   * deleted blobs. Call it regularly, from one process or from several. Postgres does all other maintenance
   * automatically.
   */
  vacuum(): Promise<number>;
  /**
   * Starts a new incarnation. Call it after a dump was restored on the same server, because the log cannot
   * detect this. In SQL, use `SELECT millrace_log.renew_incarnation()`. Readers with an earlier cursor then
   * get `rewound`, and drivers are fenced.
   */
  renewIncarnation(): Promise<void>;
}

/**
 * The schema that earlier versions used by default. The default changed, because `millrace` is a common
 * name for a database user.
 */
const earlierDefault = { name: 'millrace', table: 'sessions' };

/**
 * A blob without references is deleted after this time. By then, the process that stored it has certainly
 * ended.
 */
const unreferencedBlobMs = 24 * 3_600_000;

/**
 * Opens a log in Postgres, for any number of processes on any number of machines.
 *
 * @example const log = postgresLog({ url: 'postgres://user:password@host:5432/database' });
 */
export function postgresLog(options: PostgresLogOptions): PostgresLog {
  assertNames('postgresLog', options, {
    ...{ url: true, directUrl: true, schema: true, clock: true, commitIntervalMs: true, bus: true },
    ...{ retryMs: true, maxReaders: true, pollIntervalMs: true, chain: true, onPoint: true },
  });
  return new PostgresStoreLog(options);
}

/** The implementation of `postgresLog`. */
export class PostgresStoreLog extends StoreLog implements PostgresLog {
  readonly #database: LogDatabase;
  readonly #commits: PrefetchCommitQueue;
  readonly #clock: Clock;

  constructor(options: PostgresLogOptions) {
    const { commitIntervalMs: intervalMs = 20, onPoint, bus } = options;
    const { retryMs = 15_000, maxReaders = 4, pollIntervalMs = 1000 } = options;
    const target = targetOf('a log', options.url, options.schema ?? 'millrace_log');
    const formerSchema = options.schema === undefined ? earlierDefault : undefined;
    const { directUrl } = options;
    // This call only checks the URL, and throws if the URL is invalid.
    if (directUrl !== undefined) targetOf('a log', directUrl, target.schema);
    const access = { target, formerSchema, directUrl };
    const database = new LogDatabase({ ...access, retryMs, maxReaders });
    const serverClock = new ServerClock();
    const clock = options.clock ?? serverClock;
    const writer = new PostgresWriter(database, { onPoint, clock: serverClock });
    const commits = new PrefetchCommitQueue({ writer, clock, intervalMs, onPoint });
    const listener = new ChangeListener(database, writer.id, pollIntervalMs);
    const reader = new PostgresReader(database, listener, serverClock);
    const feeds = new FeedRegistry(reader, bus);
    const leases = new LeaseJudge({ clock, isAlive: isHolderAlive });
    const parts = { reader, commits, feeds, clock, leases, isChained: options.chain };
    super(new LogContext(parts), { process: ownProcess });
    this.#database = database;
    this.#commits = commits;
    this.#clock = clock;
  }

  async vacuum(): Promise<number> {
    this.#commits.assertOpen();
    await this.removeAbandonedCopies();
    return deleteForgottenBlobs(this.#database, this.#clock.now() - unreferencedBlobMs);
  }

  async renewIncarnation(): Promise<void> {
    this.#commits.assertOpen();
    await this.#database.transact((ask) =>
      ask(`SELECT ${this.#database.target.schema}.renew_incarnation()`, []),
    );
    this.refreshFollowers();
  }

  override async close(): Promise<void> {
    // After this call, `close` does not wait long for an unreachable server.
    this.#database.prepareClose();
    await super.close();
  }

  /** Resolves when no query is pending. Tests with their own clock use it. */
  async quiet(): Promise<void> {
    do {
      await this.#commits.flush();
      await new Promise((resolve) => setImmediate(resolve));
    } while (!this.#database.isIdle || !this.#commits.isQuiet);
  }

  ready(): Promise<void> {
    return this.#database.withRetries(() => this.#database.ready());
  }
}

/** The number of blobs that one transaction deletes. Other work can run between two transactions. */
const blobsPerTransaction = 100;

/**
 * Deletes blobs that were stored before a time and that no record references. Returns the number of deleted
 * blobs.
 */
async function deleteForgottenBlobs(database: LogDatabase, before: number): Promise<number> {
  let dropped = 0;
  for (;;) {
    const gone = await database.transact(async (ask) => {
      const { statements, target } = database;
      const asked = [before, blobsPerTransaction];
      const found = await ask<{ hash: string }>(statements.forgottenBlobs, asked);
      const hashes = found.map(({ hash }) => hash);
      if (hashes.length === 0) return { looked: 0, deleted: 0 };
      for (const { sql, values } of blobLocks(target.schema, hashes)) await ask(sql, values);
      await ask(statements.dropForgottenHolds, [hashes, before]);
      const deleted = (await ask(statements.dropBlobs, [hashes])).length;
      return { looked: hashes.length, deleted };
    });
    dropped += gone.deleted;
    if (gone.looked < blobsPerTransaction) return dropped;
  }
}

/** The identity of this process for its leases. */
export const ownProcess: ProcessIdentity = currentProcess();

/**
 * Returns whether the process that holds a lease still runs. Returns `undefined` if this process cannot find
 * out. Two machines with the same name may share a log. Only an equal boot id proves that both processes run
 * on the same machine.
 */
export function isHolderAlive(mark: ProcessIdentity): boolean | undefined {
  const { boot } = ownProcess;
  return boot === '' || mark.boot !== boot ? undefined : isProcessAlive(mark);
}
