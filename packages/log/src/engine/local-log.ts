import type { OptionNames } from '@millrace/core';
import type { Bus } from '../contract/bus.ts';
import { type Clock, systemClock } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { FeedRegistry } from '../follow/feeds.ts';
import type { OnCommitPoint, RecordStore } from '../storage/record-store.ts';
import { assertNames } from './check-options.ts';
import { GroupCommit } from './commit-queue.ts';
import { LogContext } from './log-context.ts';
import { StoreLog, type StoreLogOptions } from './store-log.ts';

/** Options that all local logs share. */
export interface LocalLogOptions extends StoreLogOptions {
  /** The clock for leases and timestamps. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Minimum time between two transactions. The first one starts immediately. Default: 2 ms. */
  readonly commitIntervalMs?: number | undefined;
  /**
   * Publishes committed records to followers in other processes. The caller must close it. Default:
   * no bus.
   */
  readonly bus?: Bus | undefined;
  /** For tests: called at each commit point, for example to kill the process there. Default: none. */
  readonly onPoint?: OnCommitPoint | undefined;
}

/** Options of `storeLog`. */
export type StoreLogSettings = Omit<LocalLogOptions, 'onPoint'>;

const settingNames: OptionNames<StoreLogSettings> = {
  clock: true,
  commitIntervalMs: true,
  bus: true,
  process: true,
  isAlive: true,
};

/**
 * Creates a log on a synchronous store. The log decides; the store only keeps rows and records.
 *
 * @example
 * const log = storeLog(new AcmeStore('sessions.acme'));
 */
export function storeLog(store: RecordStore, settings: StoreLogSettings = {}): Log {
  assertNames('storeLog', settings, settingNames);
  const { clock, commitIntervalMs, bus, process, isAlive } = settings;
  return new LocalLog(store, { clock, commitIntervalMs, bus, process, isAlive });
}

const defaultCommitIntervalMs = 2;

/** A log on a synchronous store in this process: memory or SQLite. */
export class LocalLog extends StoreLog {
  constructor(store: RecordStore, options: LocalLogOptions = {}) {
    const { clock = systemClock, commitIntervalMs = defaultCommitIntervalMs } = options;
    const commits = new GroupCommit(store, clock, commitIntervalMs, options.onPoint);
    super(new LogContext(store, commits, new FeedRegistry(store, options.bus), clock), options);
  }
}
