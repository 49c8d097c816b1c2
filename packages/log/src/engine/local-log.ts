import type { OptionNames } from '@millrace/core';
import type { Bus } from '../contract/bus.ts';
import { type Clock, systemClock } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { FeedRegistry } from '../follow/feeds.ts';
import type { OnCommitPoint, RecordStore } from '../storage/record-store.ts';
import type { ProcessIdentity } from '../storage/rows.ts';
import { assertNames } from './check-options.ts';
import { GroupCommit } from './commits/group-commit.ts';
import { type LeaseClock, LeaseJudge, processClock } from './lease-clock.ts';
import { LogContext } from './log-context.ts';
import { StoreLog, type StoreLogOptions } from './store-log.ts';

/** Options that all local logs share. */
export interface LocalLogOptions extends StoreLogOptions {
  /**
   * The clock for leases and timestamps. Default: the system clock for timestamps, and a monotonic clock for
   * leases.
   */
  readonly clock?: Clock | undefined;
  /**
   * Minimum time between two transactions of streamed text. If the disk is slow, this time is up to 8 times
   * longer, so that commits take at most an eighth of the time. All other work is committed in the next round
   * of the event loop. Default: 2 ms.
   */
  readonly commitIntervalMs?: number | undefined;
  /**
   * Publishes committed records to followers in other processes. The caller must close the bus. Default: no
   * bus.
   */
  readonly bus?: Bus | undefined;
  /**
   * If true, each session gets a hash chain, which `verifySession` checks. A session that already has records
   * gets a chain for its next records. A session with a chain keeps it without this option. It needs
   * `node:crypto`. Default: false.
   */
  readonly chain?: boolean | undefined;
  /**
   * Returns whether the process that holds a lease is alive. If it returns undefined, the lease stays valid
   * until it expires. Default: always undefined.
   */
  readonly isAlive?: ((process: ProcessIdentity) => boolean | undefined) | undefined;
  /**
   * Called at each commit point of a transaction. Tests use it, for example to kill the process at this
   * point. Default: none.
   */
  readonly onPoint?: OnCommitPoint | undefined;
}

/** The lease clock of a local log. It is used only if the caller passes no `clock`. */
interface LocalLeaseOptions {
  readonly leaseClock?: LeaseClock | undefined;
}

/** Options of `storeLog`. */
export type StoreLogSettings = Omit<LocalLogOptions, 'onPoint'>;

const settingNames: OptionNames<StoreLogSettings> = {
  clock: true,
  commitIntervalMs: true,
  bus: true,
  process: true,
  isAlive: true,
  chain: true,
};

/**
 * Creates a log on a synchronous store. The log decides about leases, offsets and fencing. The store only
 * stores rows and records.
 *
 * @example const log = storeLog(new AcmeStore('sessions.acme'));
 */
export function storeLog(store: RecordStore, settings: StoreLogSettings = {}): Log {
  assertNames('storeLog', settings, settingNames);
  const { clock, commitIntervalMs, bus, process, isAlive, chain } = settings;
  return new LocalLog(store, { clock, commitIntervalMs, bus, process, isAlive, chain });
}

const defaultCommitIntervalMs = 2;

/** A log on a synchronous store in this process: memory or SQLite. */
export class LocalLog extends StoreLog {
  constructor(store: RecordStore, options: LocalLogOptions & LocalLeaseOptions = {}) {
    const { clock = systemClock, commitIntervalMs = defaultCommitIntervalMs } = options;
    const commits = new GroupCommit(store, clock, commitIntervalMs, options.onPoint);
    // By default, each log has a lease clock with its own id, because other processes may use the same store.
    const { leaseClock: known = { ...processClock, id: crypto.randomUUID() } } = options;
    const leaseClock = options.clock === undefined ? known : undefined;
    const leases = new LeaseJudge({ clock, leaseClock, isAlive: options.isAlive });
    const feeds = new FeedRegistry(store, options.bus);
    const { chain: isChained } = options;
    super(new LogContext({ reader: store, commits, feeds, clock, leases, isChained }), options);
  }
}
