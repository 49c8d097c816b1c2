import type { Bus } from '../contract/bus.ts';
import type { Clock } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { LogContext } from '../engine/log-context.ts';
import { StoreLog } from '../engine/store-log.ts';
import { FeedRegistry } from '../follow/feeds.ts';
import { currentProcess, isProcessAlive } from '../storage/process-identity.ts';
import type { OnPoint } from '../storage/record-store.ts';
import type { ProcessIdentity } from '../storage/rows.ts';
import { ChangeListener } from './change-listener.ts';
import { blobLocks } from './database/advisory-locks.ts';
import { LogDatabase } from './database/log-database.ts';
import { targetOf } from './database/target.ts';
import { PostgresReader } from './postgres-reader.ts';
import { ServerClock } from './server-clock.ts';
import { PostgresCommitQueue } from './transaction/postgres-commits.ts';
import { PostgresWriter } from './transaction/writer.ts';

export interface PostgresLogOptions {
  /** Like `postgres://user:password@host:5432/database`. Its password is never shown. */
  readonly url: string;
  /** Where the tables are, and made if they are not. `millrace` unless told. */
  readonly schema?: string | undefined;
  /** The database's, unless told. */
  readonly clock?: Clock | undefined;
  /** At most one transaction in this time for all sessions of the process, the first at once: 20. */
  readonly commitIntervalMs?: number | undefined;
  /** Carries copies of what is committed to the followers in other processes. It is not closed here. */
  readonly bus?: Bus | undefined;
  /** How long a server that was there and is gone is waited for, before an error is told: 15,000. */
  readonly retryMs?: number | undefined;
  /** Connections for reading; one more writes, and one listens while somebody follows: 4. */
  readonly maxReaders?: number | undefined;
  /** How often followers look at the store though nobody told of anything: 1,000. */
  readonly pollIntervalMs?: number | undefined;
  /** For tests, which end their process at such a moment. */
  readonly onPoint?: OnPoint | undefined;
}

export interface PostgresLog extends Log {
  /** Transactions so far, for those who measure. */
  readonly transactions: number;
  /** Resolves when the server answers and has the tables; it would be asked at the first use anyway. */
  ready(): Promise<void>;
  /**
   * Deletes blobs that were stored a day ago and that no record ever named, and gives their number. To be
   * called now and then, by one process or by several; the rest of the upkeep is Postgres' own.
   */
  vacuum(): Promise<number>;
}

/** Whoever stored a blob so long ago and named it nowhere is gone. */
const unreferencedBlobMs = 24 * 3_600_000;

/** A log in Postgres, for any number of processes on any number of machines. */
export function postgresLog(options: PostgresLogOptions): PostgresLog {
  return new PostgresStoreLog(options);
}

/** What `postgresLog` makes. */
export class PostgresStoreLog extends StoreLog implements PostgresLog {
  readonly #database: LogDatabase;
  readonly #commits: PostgresCommitQueue;
  readonly #clock: Clock;

  constructor(options: PostgresLogOptions) {
    const { commitIntervalMs: intervalMs = 20, onPoint, bus } = options;
    const { retryMs = 15_000, maxReaders = 4, pollIntervalMs = 1000 } = options;
    const target = targetOf('a log', options.url, options.schema ?? 'millrace');
    const database = new LogDatabase({ target, retryMs, maxReaders });
    const serverClock = new ServerClock();
    const clock = options.clock ?? serverClock;
    const writer = new PostgresWriter(database, { onPoint, clock: serverClock });
    const commits = new PostgresCommitQueue({ writer, clock, intervalMs, onPoint });
    const listener = new ChangeListener(database, writer.id, pollIntervalMs);
    const reader = new PostgresReader(database, listener);
    super(new LogContext(reader, commits, new FeedRegistry(reader, bus), clock), {
      process: ownProcess,
      isAlive: isHolderAlive,
    });
    this.#database = database;
    this.#commits = commits;
    this.#clock = clock;
  }

  async vacuum(): Promise<number> {
    this.#commits.assertOpen();
    return deleteForgottenBlobs(this.#database, this.#clock.now() - unreferencedBlobMs);
  }

  override async close(): Promise<void> {
    // Who leaves does not wait for a server that may not come back.
    this.#database.hurry();
    await super.close();
  }

  /** Resolves when nothing is asked of the server that it has not answered: for tests with a clock of their own. */
  async quiet(): Promise<void> {
    do {
      await this.#commits.flush();
      await new Promise((resolve) => setImmediate(resolve));
    } while (!this.#database.isQuiet || !this.#commits.isQuiet);
  }

  ready(): Promise<void> {
    return this.#database.retrying(() => this.#database.ready());
  }
}

/** In one transaction; in between, others come to their turn. */
const blobsPerTransaction = 100;

/** Deletes blobs that were stored before a time and that no record named, and gives their number. */
export async function deleteForgottenBlobs(database: LogDatabase, before: number): Promise<number> {
  const { statements, target } = database;
  let dropped = 0;
  for (;;) {
    const gone = await database.transact(async (ask) => {
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

/** This process, as others on its machine can look for it. */
export const ownProcess: ProcessIdentity = currentProcess();

/**
 * Does the holder of a lease still run? Undefined where that cannot be seen from here. Machines may share
 * a name, and with it a log in Postgres: only where both were started by the same boot is it the same one.
 */
export function isHolderAlive(mark: ProcessIdentity): boolean | undefined {
  const { boot } = ownProcess;
  return boot === '' || mark.boot !== boot ? undefined : isProcessAlive(mark);
}
