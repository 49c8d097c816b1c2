import type { Bus } from '../contract/bus.ts';
import { type Clock, systemClock } from '../contract/clock.ts';
import { FeedRegistry } from '../follow/feeds.ts';
import type { OnCommitPoint, RecordStore } from '../storage/record-store.ts';
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

const defaultCommitIntervalMs = 2;

/** A log on a synchronous store in this process: memory or SQLite. */
export class LocalLog extends StoreLog {
  constructor(store: RecordStore, options: LocalLogOptions = {}) {
    const { clock = systemClock, commitIntervalMs = defaultCommitIntervalMs } = options;
    const commits = new GroupCommit(store, clock, commitIntervalMs, options.onPoint);
    super(new LogContext(store, commits, new FeedRegistry(store, options.bus), clock), options);
  }
}
