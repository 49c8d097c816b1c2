import type { LogRecord, SessionId } from '@millrace/core';
import type { Clock } from '../contract/clock.ts';
import { unknownSession } from '../contract/log-error.ts';
import { batchBytes } from '../follow/feed.ts';
import type { Feeds } from '../follow/feeds.ts';
import type { LogReader, ShelfReader } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import type { Commits } from './commit-queue.ts';

/** Whoever has a lease here. */
interface Holder {
  readonly session: SessionId;
  readonly epoch: number;
  /** The log is closed: it gives back what it holds. */
  end(why: Error): Promise<void>;
  /** It does not hold it any more. */
  lose(why: Error): void;
}

/** What the parts of a log share, wherever its rows lie. */
export class Store {
  readonly reader: LogReader;
  readonly commits: Commits;
  readonly feeds: Feeds;
  readonly clock: Clock;
  readonly drivers: Set<Holder> = new Set();
  /** Those whose driver failed here while it had the lease: nobody has to wait for that to end. */
  readonly lostEpochs: Set<number> = new Set();

  constructor(reader: LogReader, commits: Commits, feeds: Feeds, clock: Clock) {
    this.reader = reader;
    this.commits = commits;
    this.feeds = feeds;
    this.clock = clock;
  }

  /** Another one drives the session, or nobody can: tells those here who did, before they write in vain. */
  fence(session: SessionId, why: (epoch: number) => Error, epoch?: number): void {
    for (const driver of this.drivers)
      if (driver.session === session && driver.epoch !== epoch) driver.lose(why(driver.epoch));
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

  /** All records of a session, page by page. */
  recordsOf(shelf: ShelfReader, { session, through }: SessionRow): readonly LogRecord[] {
    return this.recordsBetween(shelf, session, 0, through);
  }
}

/** The session as it is in the transaction: it may have been deleted since the call began. */
export function requireSession(shelf: ShelfReader, session: SessionId): SessionRow {
  const row = shelf.session(session);
  if (row === undefined) throw unknownSession(session);
  return row;
}
