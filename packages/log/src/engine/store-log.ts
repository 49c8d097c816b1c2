import type { Batch, ItemId, JsonObject, LogRecord, SessionId } from '@millrace/core';
import { ChainNotLoaded, isChainLoaded, loadChain } from '../chain/load-chain.ts';
import type { BlobStore } from '../contract/blob-store.ts';
import { nextTask } from '../contract/clock.ts';
import type {
  DeleteOptions,
  Driver,
  FollowOptions,
  ForkOptions,
  FoundCommand,
  Log,
  OpenOptions,
  ReadOptions,
  RestoreOptions,
  SettleOptions,
  SubmitResult,
} from '../contract/log.ts';
import { deletedError, LogError, rewoundError, unknownSession } from '../contract/log-error.ts';
import type { Admission, Producer } from '../contract/producer.ts';
import type { SessionFilter, SessionInfo } from '../contract/session-info.ts';
import type { SnapshotStore } from '../contract/snapshot-store.ts';
import { batchBytes } from '../follow/feed.ts';
import { FeedIterator } from '../follow/feed-iterator.ts';
import { incarnationText } from '../storage/incarnation.ts';
import { type Awaitable, andThen, type StoreTransaction } from '../storage/record-store.ts';
import type { ProcessIdentity, SessionRow } from '../storage/rows.ts';
import { hasWork, newSession, sessionInfo, visibleSessions } from '../storage/session-row.ts';
import { submit } from './append-records.ts';
import { StoreBlobs } from './blobs.ts';
import {
  assertCommandKey,
  assertCursor,
  assertDeleteOptions,
  assertFollowOptions,
  assertOpenOptions,
  assertReadOptions,
  assertSessionFilter,
  assertSessionId,
} from './check-options.ts';
import { StoreDriver } from './driver.ts';
import { fencedError, renewLease, takeLease } from './lease.ts';
import type { LogContext } from './log-context.ts';
import { snapshotsOf } from './stored-snapshots.ts';

/** Options that all logs on a store share. */
export interface StoreLogOptions {
  /** The identity of this process, which each lease stores. Default: leases contain no process. */
  readonly process?: ProcessIdentity | undefined;
}

const defaultLeaseMs = 15_000;

/** After a read of so many records, other work of the process runs before the caller continues. */
const recordsPerPause = 256;

/**
 * Implements the log contract on any store. Most programs never use producers, copies, redaction and
 * settling. The code of these operations is imported on demand.
 */
export class StoreLog implements Log {
  readonly blobs: BlobStore;
  readonly snapshots: SnapshotStore | undefined;
  readonly #context: LogContext;
  readonly #options: StoreLogOptions;
  #closing: Promise<void> | undefined;
  /**
   * Operations whose code is still being imported. Later writes wait until these operations have started, so
   * that all calls keep their order.
   */
  readonly #loading = new Set<Promise<unknown>>();

  constructor(context: LogContext, options: StoreLogOptions = {}) {
    this.#options = options;
    this.#context = context;
    this.blobs = new StoreBlobs(context);
    this.snapshots = snapshotsOf(context);
  }

  /** The number of transactions since the log was opened, for measurements. */
  get transactions(): number {
    return this.#context.commits.transactions;
  }

  /** The number of buffered bytes for all followers, for measurements. */
  get bufferedBytes(): number {
    return this.#context.feeds.bytes;
  }

  /**
   * Makes all followers read their sessions again. Subclasses call it after the store got a new incarnation.
   */
  protected refreshFollowers(): void {
    this.#context.feeds.refresh();
  }

  /** Removes the incomplete copies of forks whose process ended during the fork. */
  protected async removeAbandonedCopies(): Promise<void> {
    const { removeAbandonedCopies } = await import('../rewrite/fork-in-parts.ts');
    await removeAbandonedCopies(this.#context);
  }

  async open(session: SessionId, options: OpenOptions = {}): Promise<Driver> {
    this.#assertOpen();
    assertOpenOptions(session, options);
    if (this.#context.isChained && !isChainLoaded())
      return this.#onceLoaded(loadChain, () => this.#open(session, options));
    if (this.#loading.size > 0) await this.#earlierCalls();
    return this.#open(session, options);
  }

  async #open(session: SessionId, options: OpenOptions): Promise<Driver> {
    const { leaseMs = defaultLeaseMs, from = 0 } = options;
    const isDetached = options.isDetached === true || options.epoch !== undefined;
    const { commits } = this.#context;
    const create = (row: SessionRow) =>
      new StoreDriver(this.#context, { row, leaseMs, from, isDetached });
    let driver: StoreDriver | undefined;
    const row = await commits.run(
      (tx) => {
        const held = this.#takeLease(tx, session, options);
        tx.putSession(held);
        return held;
      },
      {
        session,
        // Registers the driver synchronously. If the program closes the log right after the commit, `close`
        // can then return the lease.
        onCommitted: (held) => {
          driver = create(held);
          this.#context.fence(session, (own) => fencedError(held, own), held.epoch);
        },
      },
    );
    // The session can have a chain although this log does not have the option.
    if (row.chain !== undefined && !isChainLoaded()) await loadChain();
    return driver ?? create(row);
  }

  /** Returns the session row with the requested lease. */
  #takeLease(tx: StoreTransaction, session: SessionId, options: OpenOptions): SessionRow {
    const { leaseMs = defaultLeaseMs, holder = 'somebody', epoch } = options;
    const { clock, leases: judge, lostEpochs } = this.#context;
    const found = tx.session(session);
    // If the session does not exist, this row has incarnation 0. A cursor of a deleted session with the same
    // id is therefore refused.
    assertCursor(found ?? { session, through: 0, made: 0, incarnation: 0 }, options);
    if (epoch !== undefined) return renewLease(found, { session, epoch, leaseMs, judge });
    const known = this.#context.chained(
      found ?? newSession(session, tx.nextSession(), clock.now()),
    );
    const nextEpoch = () => tx.nextEpoch();
    const takeOver = options.takeOver === true || lostEpochs.has(known.epoch);
    const process = options.isDetached ? undefined : this.#options.process;
    return takeLease(known, { takeOver, leaseMs, holder, process, judge, nextEpoch });
  }

  async produce(admission: Admission): Promise<Producer> {
    this.#assertOpen();
    return this.#onceLoaded(
      () => import('./producer.ts'),
      ({ openProducer }) => openProducer(this.#context, admission),
    );
  }

  async submit(session: SessionId, command: JsonObject, key: string): Promise<SubmitResult> {
    this.#assertOpen();
    assertSessionId(session);
    assertCommandKey(key, session);
    const start = () => submit(this.#context, session, command, key);
    if (this.#context.isChained && !isChainLoaded()) return this.#onceLoaded(loadChain, start);
    if (this.#loading.size > 0) await this.#earlierCalls();
    return start().catch((error: unknown) => {
      if (!(error instanceof ChainNotLoaded)) throw error;
      return this.#onceLoaded(loadChain, start);
    });
  }

  async findCommand(session: SessionId, key: string): Promise<FoundCommand | undefined> {
    this.#assertOpen();
    assertSessionId(session);
    assertCommandKey(key, session);
    return this.#context.commits.run((tx) =>
      tx.session(session) === undefined ? undefined : tx.command(session, key),
    );
  }

  async read(session: SessionId, options: ReadOptions = {}): Promise<Batch> {
    this.#assertOpen();
    assertReadOptions(options, session);
    const { from = 0, maxBytes = batchBytes } = options;
    const row = await this.#requireSession(session);
    assertCursor(row, options);
    const records = await this.#context.reader.records(session, from, maxBytes);
    // A store in this process reads without a pause, so a loop over the pages of a long session would block it.
    if (records.length >= recordsPerPause) await nextTask();
    // Between the two reads, another process may have deleted the session or restored a backup. The records
    // are then invalid.
    const later = await this.#requireSession(session);
    if (later.incarnation !== row.incarnation)
      throw rewoundError(session, incarnationText(row), incarnationText(later));
    if (later.made !== row.made) throw unknownSession(session);
    // If the last records were removed, the page is empty. Its end is then the session's last offset.
    return { after: from, through: records.at(-1)?.offset ?? row.through, records };
  }

  follow(session: SessionId, options: FollowOptions = {}): AsyncIterable<Batch> {
    assertFollowOptions(session, options);
    const { feeds, clock } = this.#context;
    return new FeedIterator(options, {
      join: (wake) => {
        this.#assertOpen();
        return andThen(this.#requireSession(session), (row) => {
          assertCursor(row, options);
          return feeds.join(row, wake);
        });
      },
      leave: (feed, wake) => feeds.leave(feed, wake),
      isClosed: () => this.#closing !== undefined,
      clock,
    });
  }

  async info(session: SessionId): Promise<SessionInfo | undefined> {
    this.#assertOpen();
    assertSessionId(session);
    const row = await this.#context.reader.session(session);
    return row && sessionInfo(row);
  }

  async list(filter: SessionFilter = {}): Promise<readonly SessionInfo[]> {
    this.#assertOpen();
    assertSessionFilter(filter);
    const { isWaiting, limit = Number.POSITIVE_INFINITY, ...rest } = filter;
    const found: SessionInfo[] = [];
    // The lease clock decides whether a lease is still valid. The store does not have this clock, so the
    // store cannot apply `limit`.
    const rows = isWaiting === undefined ? filter : { ...rest, hasWork: isWaiting || undefined };
    for (const row of await this.#context.reader.sessions(visibleSessions(rows))) {
      if (found.length >= limit) break;
      if (isWaiting === undefined || this.#isWaiting(row) === isWaiting)
        found.push(sessionInfo(row));
    }
    return found;
  }

  async settle(session: SessionId, turn: number, options: SettleOptions = {}): Promise<boolean> {
    this.#assertOpen();
    assertSessionId(session);
    return this.#onceLoaded(
      () => import('../rewrite/settle.ts'),
      ({ settle }) => settle(this.#context, session, turn, options),
    );
  }

  async fork(session: SessionId, options: ForkOptions): Promise<SessionInfo> {
    this.#assertOpen();
    const row = await this.#onceLoaded(
      async () => {
        const { prepareFork } = await import('../rewrite/fork-session.ts');
        return prepareFork(this.#context, session, options, this.#options.process);
      },
      (fork) => fork(),
    );
    return sessionInfo(row);
  }

  async restore(
    session: SessionId,
    records: readonly LogRecord[],
    options: RestoreOptions = {},
  ): Promise<SessionInfo> {
    this.#assertOpen();
    assertSessionId(session);
    // Copies the list immediately, so that later changes by the caller have no effect.
    const copy = Array.isArray(records) ? [...records] : records;
    const row = await this.#onceLoaded(
      () => import('../rewrite/copy-session.ts'),
      ({ restore }) => restore(this.#context, session, copy, options),
    );
    return sessionInfo(row);
  }

  async redact(session: SessionId, item: ItemId, reason?: string): Promise<void> {
    this.#assertOpen();
    assertSessionId(session);
    await this.#onceLoaded(
      () => import('../rewrite/redact.ts'),
      ({ redact }) => redact(this.#context, session, item, reason),
    );
  }

  async delete(session: SessionId, options: DeleteOptions = {}): Promise<boolean> {
    this.#assertOpen();
    assertSessionId(session);
    assertDeleteOptions(options, session);
    if (this.#loading.size > 0) await this.#earlierCalls();
    const { ifThrough } = options;
    return this.#context.commits.run(
      (tx) => {
        const row = tx.session(session);
        if (row === undefined || (ifThrough ?? row.through) !== row.through) return false;
        const blobs = tx.blobsOf(session);
        tx.deleteSession(session);
        tx.deleteUnusedBlobs(blobs);
        return true;
      },
      {
        onCommitted: (isDeleted) => {
          if (!isDeleted) return;
          this.#context.feeds.deleted(session);
          this.#context.fence(session, () => deletedError(session));
        },
      },
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const why = closedLog();
    const { commits, drivers, feeds, reader } = this.#context;
    if (this.#loading.size > 0) await this.#earlierCalls();
    const flushed = commits.flush();
    // `await` is used only for a promise, because a log on a synchronous store must already be closed when
    // `close` returns.
    if (flushed !== undefined) await flushed;
    const given = [...drivers].map((driver) => driver.close(why));
    const committed = commits.close(why);
    feeds.close();
    if (committed !== undefined) await committed;
    const closed = reader.close();
    // A lease that could not be returned expires later.
    await Promise.allSettled(given);
    await closed;
  }

  /**
   * Imports the code of an operation and then starts the operation. Operations start in the order in
   * which they were called.
   */
  async #onceLoaded<Code, T>(
    load: () => Promise<Code>,
    start: (code: Code) => Promise<T>,
  ): Promise<T> {
    const earlier = this.#loading.size > 0 ? this.#earlierCalls() : undefined;
    const starting = (async () => {
      await earlier;
      return { done: start(await load()) };
    })();
    this.#loading.add(starting);
    try {
      const { done } = await starting;
      return await done;
    } finally {
      this.#loading.delete(starting);
    }
  }

  async #earlierCalls(): Promise<void> {
    await Promise.allSettled(this.#loading);
  }

  #isWaiting(row: SessionRow): boolean {
    return hasWork(row) && this.#context.leases.remainingMs(row) === 0;
  }

  #requireSession(session: SessionId): Awaitable<SessionRow> {
    assertSessionId(session);
    return andThen(this.#context.reader.session(session), (row) => {
      if (row === undefined) throw unknownSession(session);
      return row;
    });
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw closedLog();
    this.#context.commits.assertOpen();
  }
}

function closedLog(): LogError {
  return new LogError('closed', 'Cannot use a closed log. Open it again');
}
