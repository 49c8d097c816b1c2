import type { Bus } from '../contract/bus.ts';
import { type Clock, systemClock } from '../contract/clock.ts';
import { FeedRegistry } from '../follow/feeds.ts';
import type { OnPoint, RecordStore } from '../storage/record-store.ts';
import { GroupCommit } from './commit-queue.ts';
import { LogContext } from './log-context.ts';
import { StoreLog, type StoreLogOptions } from './store-log.ts';

export interface LocalLogOptions extends StoreLogOptions {
  readonly clock?: Clock | undefined;
  /** At most one transaction in this time; the first at once. */
  readonly commitIntervalMs?: number | undefined;
  /** Carries copies of what is committed to the followers in other processes. It is not closed here. */
  readonly bus?: Bus | undefined;
  /** For tests, which end their process at such a moment. */
  readonly onPoint?: OnPoint | undefined;
}

const defaultCommitIntervalMs = 2;

/** A log on a store of this machine: memory or SQLite. */
export class LocalLog extends StoreLog {
  constructor(store: RecordStore, options: LocalLogOptions = {}) {
    const { clock = systemClock, commitIntervalMs = defaultCommitIntervalMs } = options;
    const commits = new GroupCommit(store, clock, commitIntervalMs, options.onPoint);
    super(new LogContext(store, commits, new FeedRegistry(store, options.bus), clock), options);
  }
}
