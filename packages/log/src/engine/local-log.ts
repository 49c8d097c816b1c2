import type { Bus } from '../contract/bus.ts';
import { type Clock, systemClock } from '../contract/clock.ts';
import { FeedRegistry } from '../follow/feeds.ts';
import type { OnCommitPoint, RecordStore } from '../storage/record-store.ts';
import type { ProcessIdentity } from '../storage/rows.ts';
import { GroupCommit } from './commit-queue.ts';
import { type LeaseClock, LeaseJudge } from './lease-clock.ts';
import { LogContext } from './log-context.ts';
import { StoreLog, type StoreLogOptions } from './store-log.ts';

/** Options that all local logs share. */
export interface LocalLogOptions extends StoreLogOptions {
  /**
   * The clock for leases and timestamps. Default: the system clock for timestamps, and a clock that
   * nobody can set for leases.
   */
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

/** How a local log judges leases. */
interface LocalLeaseOptions {
  /** Used if the caller gives no `clock`. */
  readonly leaseClock: LeaseClock;
  /** Whether another process still runs. Default: not known. */
  readonly isAlive?: ((process: ProcessIdentity) => boolean | undefined) | undefined;
}

const defaultCommitIntervalMs = 2;

/** A log on a synchronous store in this process: memory or SQLite. */
export class LocalLog extends StoreLog {
  constructor(store: RecordStore, options: LocalLogOptions & LocalLeaseOptions) {
    const { clock = systemClock, commitIntervalMs = defaultCommitIntervalMs } = options;
    const commits = new GroupCommit(store, clock, commitIntervalMs, options.onPoint);
    const leaseClock = options.clock === undefined ? options.leaseClock : undefined;
    const leases = new LeaseJudge({ clock, leaseClock, isAlive: options.isAlive });
    const feeds = new FeedRegistry(store, options.bus);
    super(new LogContext({ reader: store, commits, feeds, clock, leases }), options);
  }
}
