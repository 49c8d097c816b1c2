import type { LogRecord, SessionId } from '@millrace/core';
import { batchBytes } from '../follow/feed.ts';
import type { Feeds } from '../follow/feeds.ts';
import type { Shelf, ShelfReader } from '../shelf/shelf.ts';
import type { Clock } from './clock.ts';
import type { GroupCommit } from './group-commit.ts';

/** What gives back what it holds when the log is closed. */
interface Ending {
  end(why: Error): Promise<void>;
}

/** What the parts of a local log share. */
export class Store {
  readonly shelf: Shelf;
  readonly commits: GroupCommit;
  readonly feeds: Feeds;
  readonly clock: Clock;
  /** Those that hold a lease. */
  readonly drivers: Set<Ending> = new Set();
  /** Those whose driver failed here while it had the lease: nobody has to wait for that to end. */
  readonly lostEpochs: Set<number> = new Set();

  constructor(shelf: Shelf, commits: GroupCommit, feeds: Feeds, clock: Clock) {
    this.shelf = shelf;
    this.commits = commits;
    this.feeds = feeds;
    this.clock = clock;
  }

  /** All of them, page by page. */
  recordsBetween(
    shelf: ShelfReader,
    session: SessionId,
    after: number,
    through: number,
  ): readonly LogRecord[] {
    const all: LogRecord[] = [];
    let cursor = after;
    while (cursor < through) {
      const page = shelf.records(session, cursor, batchBytes);
      const last = page.at(-1);
      if (last === undefined) break;
      for (const record of page) if (record.offset <= through) all.push(record);
      cursor = last.offset;
    }
    return all;
  }
}
