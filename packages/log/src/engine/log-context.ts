import type { LogRecord, SessionId } from '@millrace/core';
import type { Clock } from '../contract/clock.ts';
import { unknownSession } from '../contract/log-error.ts';
import { batchBytes } from '../follow/feed.ts';
import type { FeedRegistry } from '../follow/feeds.ts';
import type { LogReader, StoreReader } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import type { CommitQueue } from './commit-queue.ts';

/** Whoever has a lease here. */
interface LeaseHolder {
  readonly session: SessionId;
  readonly epoch: number;
  /** The log is closed: it gives back what it holds. */
  close(why: Error): Promise<void>;
  /** It does not hold it any more. */
  loseLease(why: Error): void;
}

/** What the parts of a log share, wherever its rows lie. */
export class LogContext {
  readonly reader: LogReader;
  readonly commits: CommitQueue;
  readonly feeds: FeedRegistry;
  readonly clock: Clock;
  readonly drivers: Set<LeaseHolder> = new Set();
  /** Those whose driver failed here while it had the lease: nobody has to wait for that to end. */
  readonly lostEpochs: Set<number> = new Set();

  constructor(reader: LogReader, commits: CommitQueue, feeds: FeedRegistry, clock: Clock) {
    this.reader = reader;
    this.commits = commits;
    this.feeds = feeds;
    this.clock = clock;
  }

  /** Another one drives the session, or nobody can: tells those here who did, before they write in vain. */
  fence(session: SessionId, why: (epoch: number) => Error, epoch?: number): void {
    for (const driver of this.drivers)
      if (driver.session === session && driver.epoch !== epoch) driver.loseLease(why(driver.epoch));
  }

  /** All of them, page by page. */
  recordsBetween(
    tx: StoreReader,
    session: SessionId,
    after: number,
    through: number,
  ): readonly LogRecord[] {
    const all: LogRecord[] = [];
    let cursor = after;
    while (cursor < through) {
      const page = tx.records(session, cursor, batchBytes);
      const last = page.at(-1);
      if (last === undefined) break;
      for (const record of page) if (record.offset <= through) all.push(record);
      cursor = last.offset;
    }
    return all;
  }

  /** All records of a session, page by page. */
  recordsOf(tx: StoreReader, { session, through }: SessionRow): readonly LogRecord[] {
    return this.recordsBetween(tx, session, 0, through);
  }
}

/** The session as it is in the transaction: it may have been deleted since the call began. */
export function requireSession(tx: StoreReader, session: SessionId): SessionRow {
  const row = tx.session(session);
  if (row === undefined) throw unknownSession(session);
  return row;
}
