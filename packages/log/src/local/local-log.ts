import type { Bus } from '../contract/bus.ts';
import { Feeds } from '../follow/feeds.ts';
import type { OnPoint } from '../shelf/commit-point.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { type Clock, systemClock } from './clock.ts';
import { GroupCommit } from './group-commit.ts';
import { Store } from './store.ts';
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
