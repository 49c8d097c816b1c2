import type { Batch, ItemId, JsonObject, LogRecord, SessionId } from '@millrace/core';
import type { BlobStore } from '../contract/blob-store.ts';
import type {
  Driver,
  FollowOptions,
  ForkOptions,
  Log,
  OpenOptions,
  ReadOptions,
  RestoreOptions,
  Submitted,
} from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { Admission, Producer } from '../contract/producer.ts';
import type { SessionFilter, SessionInfo } from '../contract/session-info.ts';
import { batchBytes } from '../follow/feed.ts';
import { Feeds } from '../follow/feeds.ts';
import { follow } from '../follow/follow.ts';
import { closedError, isHeld, takeLease } from '../rules/lease.ts';
import { numberRecords } from '../rules/number-records.ts';
import { hasWork } from '../rules/open-work.ts';
import { assertAdmitted, opened } from '../rules/produce.ts';
import { sessionInfo } from '../rules/session-info.ts';
import type { OnPoint } from '../shelf/commit-point.ts';
import type { ProcessMark, SessionRow } from '../shelf/rows.ts';
import type { Shelf, ShelfWriter } from '../shelf/shelf.ts';
import { type Clock, systemClock } from './clock.ts';
import { GroupCommit } from './group-commit.ts';
import { LocalBlobs } from './local-blobs.ts';
import { LocalDriver } from './local-driver.ts';
import { LocalProducer } from './local-producer.ts';
import { restore } from './restore.ts';
import { rewrite } from './rewrite.ts';
import { Store } from './store.ts';

export interface LocalLogOptions {
  readonly clock?: Clock | undefined;
  /** At most one transaction in this time; the first at once. */
  readonly commitIntervalMs?: number | undefined;
  /** This process, as other processes of the machine can look for it. */
  readonly process?: ProcessMark | undefined;
  readonly isAlive?: ((process: ProcessMark) => boolean | undefined) | undefined;
  /** For tests, which end their process at such a moment. */
  readonly onPoint?: OnPoint | undefined;
}

const defaultCommitIntervalMs = 2;
const defaultLeaseMs = 15_000;

/** A log on a shelf of this machine: memory or SQLite. */
export class LocalLog implements Log {
  readonly blobs: BlobStore;
  readonly #store: Store;
  readonly #options: LocalLogOptions;
  #isClosed = false;

  constructor(shelf: Shelf, options: LocalLogOptions = {}) {
    const { clock = systemClock, commitIntervalMs = defaultCommitIntervalMs } = options;
    const commits = new GroupCommit(shelf, clock, commitIntervalMs, options.onPoint);
    this.#options = options;
    this.#store = new Store(shelf, commits, new Feeds(shelf), clock);
    this.blobs = new LocalBlobs(this.#store);
  }

  /** How many there were, for those who measure. */
  get transactions(): number {
    return this.#store.commits.transactions;
  }

  /** What is held for followers, however many there are, for those who measure. */
  get bufferedBytes(): number {
    return this.#store.feeds.bytes;
  }

  async open(session: SessionId, options: OpenOptions = {}): Promise<Driver> {
    this.#assertOpen();
    const { leaseMs = defaultLeaseMs, holder = 'somebody', from = 0 } = options;
    const { process, isAlive = () => undefined } = this.#options;
    const epoch = await this.#store.commits.run((shelf) => {
      const now = this.#store.clock.now();
      const row = shelf.session(session) ?? newSession(session, now);
      assertOffset(row, from);
      const nextEpoch = () => shelf.nextEpoch();
      const takeOver = options.takeOver === true || this.#store.lostEpochs.has(row.epoch);
      const ask = { ...options, takeOver, leaseMs, holder, process, now, isAlive, nextEpoch };
      const held = takeLease(row, ask);
      shelf.putSession(held);
      this.#store.lostEpochs.delete(row.epoch);
      return held.epoch;
    });
    return new LocalDriver(this.#store, { session, epoch, leaseMs, from });
  }

  async produce(admission: Admission): Promise<Producer> {
    this.#assertOpen();
    const { session, producer } = admission;
    const { row } = await this.#store.commits.run(
      (shelf) => {
        const known = shelf.producer(session, producer);
        assertAdmitted(shelf.session(session), known, admission);
        const row = opened(known);
        shelf.putProducer(row);
        return {
          row,
          ...this.#supersede(
            shelf,
            session,
            known.isRequest && known.epoch > 0 ? known : undefined,
          ),
        };
      },
      ({ session: next, records }) => next && this.#store.feeds.push(next, records),
    );
    return new LocalProducer(this.#store, admission, row);
  }

  async submit(session: SessionId, command: JsonObject, key: string): Promise<Submitted> {
    this.#assertOpen();
    const { submitted } = await this.#store.commits.run(
      (shelf) => {
        const known = shelf.commandOffset(session, key);
        if (known !== undefined)
          return { submitted: { offset: known, isRepeat: true }, row: undefined, records: [] };
        const now = this.#store.clock.now();
        const row = shelf.session(session) ?? newSession(session, now);
        if (row.isClosed) throw closedError(row);
        const fact = { type: 'command_queued', key, command } as const;
        const numbered = numberRecords(row, [{ turn: 0, attempt: 0, fact }], 'command', now);
        shelf.putSession(numbered.row);
        shelf.insert(session, numbered.records);
        shelf.putCommand(session, key, numbered.row.through);
        return { submitted: { offset: numbered.row.through, isRepeat: false }, ...numbered };
      },
      ({ row, records }) => row && this.#store.feeds.push(row, records),
    );
    return submitted;
  }

  async read(
    session: SessionId,
    { from = 0, maxBytes = batchBytes }: ReadOptions = {},
  ): Promise<Batch> {
    this.#assertOpen();
    const row = this.#known(session);
    assertOffset(row, from);
    const records = this.#store.shelf.records(session, from, maxBytes);
    // What came last may have been taken out: then there is nothing after it, and that was all.
    return { after: from, through: records.at(-1)?.offset ?? row.through, records };
  }

  async *follow(session: SessionId, options: FollowOptions = {}): AsyncGenerator<Batch> {
    this.#assertOpen();
    const row = this.#known(session);
    assertOffset(row, options.from ?? 0);
    const feed = this.#store.feeds.join(row);
    try {
      yield* follow(feed, options, () => this.#isClosed);
    } finally {
      this.#store.feeds.leave(feed);
    }
  }

  async info(session: SessionId): Promise<SessionInfo | undefined> {
    this.#assertOpen();
    const row = this.#store.shelf.session(session);
    return row && sessionInfo(row);
  }

  async list(filter: SessionFilter = {}): Promise<readonly SessionInfo[]> {
    this.#assertOpen();
    const { isWaiting, limit = Number.POSITIVE_INFINITY, ...rest } = filter;
    const found: SessionInfo[] = [];
    // Which of them are driven, and so how many are left of them, only the clock can tell.
    const rows = isWaiting === undefined ? filter : { ...rest, hasWork: isWaiting || undefined };
    for (const row of this.#store.shelf.sessions(rows)) {
      if (found.length >= limit) break;
      if (isWaiting === undefined || this.#isWaiting(row) === isWaiting)
        found.push(sessionInfo(row));
    }
    return found;
  }

  async settle(session: SessionId, turn: number): Promise<boolean> {
    this.#assertOpen();
    return rewrite.settle(this.#store, this.#known(session), turn);
  }

  async fork(session: SessionId, options: ForkOptions): Promise<SessionInfo> {
    this.#assertOpen();
    return sessionInfo(await rewrite.fork(this.#store, this.#known(session), options));
  }

  async restore(
    session: SessionId,
    records: readonly LogRecord[],
    options: RestoreOptions = {},
  ): Promise<SessionInfo> {
    this.#assertOpen();
    return sessionInfo(await restore(this.#store, session, records, options));
  }

  async redact(session: SessionId, item: ItemId, reason?: string): Promise<void> {
    this.#assertOpen();
    await rewrite.redact(this.#store, this.#known(session), item, reason);
  }

  async delete(session: SessionId): Promise<void> {
    this.#assertOpen();
    await this.#store.commits.run(
      (shelf) => {
        const blobs = shelf.blobsOf(session);
        shelf.deleteSession(session);
        shelf.deleteUnusedBlobs(blobs);
      },
      () => this.#store.feeds.reset(session),
    );
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const why = closedLog();
    const { commits, drivers, feeds, shelf } = this.#store;
    const given = [...drivers].map((driver) => driver.end(why));
    commits.close(why);
    feeds.close();
    shelf.close();
    // What could not be given back ends by itself.
    await Promise.allSettled(given);
  }

  /** The earlier try at the request leaves the stage. */
  #supersede(
    shelf: ShelfWriter,
    session: SessionId,
    earlier: { readonly turn: number; readonly attempt: number } | undefined,
  ) {
    const row = shelf.session(session);
    if (row === undefined || earlier === undefined) return { session: undefined, records: [] };
    const { turn, attempt } = earlier;
    const fact = { type: 'attempt_superseded', reason: 'opened again' } as const;
    const numbered = numberRecords(
      row,
      [{ turn, attempt, fact }],
      'store',
      this.#store.clock.now(),
    );
    shelf.putSession(numbered.row);
    shelf.insert(session, numbered.records);
    return { session: numbered.row, records: numbered.records };
  }

  #isWaiting(row: SessionRow): boolean {
    const { isAlive = () => undefined } = this.#options;
    const isDriven =
      row.lease !== undefined && isHeld(row.lease, { now: this.#store.clock.now(), isAlive });
    return hasWork(row) && !isDriven;
  }

  #known(session: SessionId): SessionRow {
    const row = this.#store.shelf.session(session);
    if (row !== undefined) return row;
    throw new LogError('no_session', `Cannot find session ${session}`, { session });
  }

  #assertOpen(): void {
    this.#store.commits.assertOpen();
  }
}

function newSession(session: SessionId, now: number): SessionRow {
  const work = { openRuns: 0, openTurns: 0, queuedCommands: 0 };
  const times = { createdAt: now, changedAt: now };
  return {
    session,
    through: 0,
    ...times,
    isClosed: false,
    epoch: 0,
    lease: undefined,
    ...work,
    origin: undefined,
  };
}

function closedLog(): LogError {
  return new LogError('closed', 'Cannot use a log that was closed. Open it again');
}

function assertOffset({ session, through }: SessionRow, offset: number): void {
  if (Number.isInteger(offset) && offset >= 0 && offset <= through) return;
  const message = `Cannot read session ${session} after offset ${offset}: it has 0 to ${through}`;
  throw new LogError('bad_offset', message, { session, offset, through });
}
