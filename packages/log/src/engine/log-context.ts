import type { LogRecord, SessionId } from '@millrace/core';
import { chainCode } from '../chain/load-chain.ts';
import type { Clock } from '../contract/clock.ts';
import { unknownSession } from '../contract/log-error.ts';
import { batchBytes } from '../follow/feed.ts';
import type { FeedRegistry } from '../follow/feeds.ts';
import type { LogReader, StoreReader } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import type { CommitQueue } from './commits/commit-queue.ts';
import type { LeaseJudge } from './lease-clock.ts';

/** A driver of this log that may hold a lease. */
interface LeaseHolder {
  readonly session: SessionId;
  readonly epoch: number;
  /** Ends the driver because the log is closed, and returns its lease. */
  close(why: Error): Promise<void>;
  /** Ends the driver because it no longer holds the lease. */
  loseLease(why: Error): void;
}

interface ContextParts {
  readonly reader: LogReader;
  readonly commits: CommitQueue;
  readonly feeds: FeedRegistry;
  readonly clock: Clock;
  readonly leases: LeaseJudge;
  /** True if sessions get a hash chain. Default: false. */
  readonly isChained?: boolean | undefined;
}

/** Objects that all operations of one log share. */
export class LogContext {
  readonly reader: LogReader;
  readonly commits: CommitQueue;
  readonly feeds: FeedRegistry;
  readonly clock: Clock;
  readonly leases: LeaseJudge;
  /** True if sessions get a hash chain. */
  readonly isChained: boolean;
  readonly drivers: Set<LeaseHolder> = new Set();
  /**
   * Epochs of drivers that failed in this process before they could return their lease. A new driver can take
   * such a lease without waiting for its expiry.
   */
  readonly lostEpochs: Set<number> = new Set();

  constructor({ reader, commits, feeds, clock, leases, isChained = false }: ContextParts) {
    this.reader = reader;
    this.commits = commits;
    this.feeds = feeds;
    this.clock = clock;
    this.leases = leases;
    this.isChained = isChained;
  }

  /**
   * Returns the row with the start of a hash chain, if the option `chain` is on and the session has no chain. A
   * session that has a chain keeps it without the option.
   */
  chained(row: SessionRow): SessionRow {
    if (!this.isChained || row.chain !== undefined) return row;
    return { ...row, chain: chainCode().newChain(row.through) };
  }

  /**
   * Ends this log's drivers of the session, except the driver with `epoch`. The log calls it after a takeover
   * or a deletion, so that these drivers stop before their next append.
   */
  fence(session: SessionId, why: (epoch: number) => Error, epoch?: number): void {
    for (const driver of this.drivers)
      if (driver.session === session && driver.epoch !== epoch) driver.loseLease(why(driver.epoch));
  }

  /** Reads all records between two offsets, page by page. */
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

  /** Reads all records of a session, page by page. */
  recordsOf(tx: StoreReader, { session, through }: SessionRow): readonly LogRecord[] {
    return this.recordsBetween(tx, session, 0, through);
  }
}

/**
 * Returns the session row in this transaction. Throws `no_session` if the session was deleted after the
 * call began.
 */
export function requireSession(tx: StoreReader, session: SessionId): SessionRow {
  const row = tx.session(session);
  if (row === undefined) throw unknownSession(session);
  return row;
}
