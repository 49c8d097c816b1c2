import type { Bus } from '../contract/bus.ts';
import { type Clock, systemClock } from '../contract/clock.ts';
import { Feeds } from '../follow/feeds.ts';
import type { OnPoint, Shelf } from '../storage/record-store.ts';
import { GroupCommit } from './commit-queue.ts';
import { Store } from './log-context.ts';
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

/** A log on a shelf of this machine: memory or SQLite. */
export class LocalLog extends StoreLog {
  constructor(shelf: Shelf, options: LocalLogOptions = {}) {
    const { clock = systemClock, commitIntervalMs = defaultCommitIntervalMs } = options;
    const commits = new GroupCommit(shelf, clock, commitIntervalMs, options.onPoint);
    super(new Store(shelf, commits, new Feeds(shelf, options.bus), clock), options);
  }
}
