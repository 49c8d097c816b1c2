import type { OptionNames, SessionId } from '@millrace/core';
import type { Bus } from '../contract/bus.ts';
import { type Clock, systemClock } from '../contract/clock.ts';
import type { Driver, Log, OpenOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionFilter, SessionInfo } from '../contract/session-info.ts';
import { assertNames } from '../engine/check-options.ts';
import { LeaseJudge } from '../engine/lease-clock.ts';
import { LogContext } from '../engine/log-context.ts';
import { StoreLog } from '../engine/store-log.ts';
import { FeedRegistry } from '../follow/feeds.ts';
import { PrefetchCommitQueue } from '../prefetch/prefetch-commits.ts';
import { ChangeChannel } from './change-channel.ts';
import { LogDatabase } from './database.ts';
import { IndexedDbReader } from './indexeddb-reader.ts';
import { IndexedDbWriter } from './indexeddb-writer.ts';
import { TabPresence } from './tab-presence.ts';
import { dropForgottenBlobs } from './write-draft.ts';

/** Options of `indexedDbLog`. */
export interface IndexedDbLogOptions {
  /** The name of the database. Logs with the same name share their sessions. Default: `millrace`. */
  readonly name?: string | undefined;
  /**
   * The clock for leases and timestamps. Default: the system clock for timestamps, and a monotonic clock for
   * leases.
   */
  readonly clock?: Clock | undefined;
  /**
   * Minimum time between two transactions in milliseconds. The first transaction starts immediately.
   * Default: 10.
   */
  readonly commitIntervalMs?: number | undefined;
  /**
   * The kind of crash that committed records survive. `process`: a crash of the browser. `power`: also a
   * crash of the machine, at the cost of one disk write per commit. Default: `process`.
   */
  readonly durability?: 'process' | 'power' | undefined;
  /**
   * The interval at which followers check the store if no other tab has sent a notice, in milliseconds.
   * Default: 1,000.
   */
  readonly pollIntervalMs?: number | undefined;
  /**
   * Publishes committed records to followers in other processes. The caller must close the bus. Default: no
   * bus.
   */
  readonly bus?: Bus | undefined;
}

/** A log in the browser's IndexedDB, with maintenance operations. */
export interface IndexedDbLog extends Log {
  /** The number of transactions since the log was opened, for measurements. */
  readonly transactions: number;
  /**
   * Deletes blobs that were stored more than a day ago and that no record references. Returns the number of
   * deleted blobs.
   */
  vacuum(): Promise<number>;
}

/**
 * A blob without references is deleted after this time. By then, the tab that stored it is certainly closed.
 */
const unreferencedBlobMs = 24 * 3_600_000;

/**
 * Opens a log in IndexedDB, for pages and workers. All tabs of a site share the log. Every tab can follow all
 * sessions, but only one tab drives a session at a time.
 *
 * @example const log = indexedDbLog({ name: 'my-app' });
 */
export function indexedDbLog(options: IndexedDbLogOptions = {}): IndexedDbLog {
  return new IndexedDbStoreLog(options);
}

/** The implementation of `indexedDbLog`. */
export class IndexedDbStoreLog extends StoreLog implements IndexedDbLog {
  readonly #database: LogDatabase;
  readonly #commits: PrefetchCommitQueue;
  readonly #presence: TabPresence;
  readonly #clock: Clock;

  constructor(options: IndexedDbLogOptions) {
    assertOptions(options);
    const { name = 'millrace', clock = systemClock, commitIntervalMs: intervalMs = 10 } = options;
    const durability = options.durability === 'power' ? 'strict' : 'relaxed';
    const database = new LogDatabase(name, durability);
    const changes = new ChangeChannel(name, options.pollIntervalMs ?? 1000);
    const reader = new IndexedDbReader(database, changes);
    const writer = new IndexedDbWriter(database, changes);
    const commits = new PrefetchCommitQueue({ writer, clock, intervalMs });
    const presence = new TabPresence();
    const feeds = new FeedRegistry(reader, options.bus);
    const { identity: process, isAlive } = presence;
    const leaseClock = options.clock === undefined ? presence.clock : undefined;
    const leases = new LeaseJudge({ clock, leaseClock, isAlive });
    super(new LogContext({ reader, commits, feeds, clock, leases }), { process });
    this.#database = database;
    this.#commits = commits;
    this.#presence = presence;
    this.#clock = clock;
  }

  /** Opens a session. If its lease belongs to a tab that has ended, this log takes the lease immediately. */
  override async open(session: SessionId, options: OpenOptions = {}): Promise<Driver> {
    await this.#presence.ready();
    try {
      return await super.open(session, options);
    } catch (error) {
      const isHeld = error instanceof LogError && error.code === 'held';
      if (!isHeld || !(await this.#presence.findGone())) throw error;
      return super.open(session, options);
    }
  }

  override async list(filter: SessionFilter = {}): Promise<readonly SessionInfo[]> {
    const found = await super.list(filter);
    const isAboutLeases = filter.isWaiting !== undefined;
    return isAboutLeases && (await this.#presence.findGone()) ? super.list(filter) : found;
  }

  async vacuum(): Promise<number> {
    this.#commits.assertOpen();
    const before = this.#clock.now() - unreferencedBlobMs;
    return this.#database.transact('readwrite', (tx) => dropForgottenBlobs(tx, before));
  }

  override async close(): Promise<void> {
    await super.close();
    this.#presence.close();
  }

  /** Resolves when no request is pending. Tests with their own clock use it. */
  async quiet(): Promise<void> {
    do {
      await this.#commits.flush();
      await new Promise((resolve) => setTimeout(resolve, 0));
    } while (!this.#database.isIdle || !this.#commits.isQuiet);
  }
}

const isValid: Readonly<Record<keyof IndexedDbLogOptions, (value: unknown) => boolean>> = {
  name: (value) => typeof value === 'string' && value !== '',
  clock: (value) => typeof value === 'object' && value !== null,
  commitIntervalMs: isDelay,
  durability: (value) => value === 'process' || value === 'power',
  pollIntervalMs: (value) => isDelay(value) && value !== 0,
  bus: (value) => typeof value === 'object' && value !== null,
};

function isDelay(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

const optionNames: OptionNames<IndexedDbLogOptions> = {
  name: true,
  clock: true,
  commitIntervalMs: true,
  durability: true,
  pollIntervalMs: true,
  bus: true,
};

function assertOptions(options: IndexedDbLogOptions): void {
  assertNames('indexedDbLog', options, optionNames);
  for (const [name, check] of Object.entries(isValid)) {
    const value = options[name as keyof IndexedDbLogOptions];
    if (value === undefined || check(value)) continue;
    const message = `Cannot use the option ${name} of indexedDbLog: its value is not valid`;
    throw new LogError('bad_option', message, { of: 'indexedDbLog', option: name });
  }
}
