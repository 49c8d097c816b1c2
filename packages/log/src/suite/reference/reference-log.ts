import {
  type Batch,
  type ItemId,
  type JsonObject,
  type LogRecord,
  mergeBatch,
  type SessionId,
} from '@millrace/core';
import type { BlobRef, BlobStore } from '../../contract/blob-store.ts';
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
  SubmitResult,
} from '../../contract/log.ts';
import type { Admission, Producer } from '../../contract/producer.ts';
import type { SessionFilter, SessionInfo } from '../../contract/session-info.ts';
import {
  assertCommandKey,
  assertFollowOptions,
  assertOpenOptions,
  assertReadOptions,
  assertSessionFilter,
  assertSessionId,
} from '../../engine/check-options.ts';
import {
  assertAdmission,
  assertForkOptions,
  assertReason,
  assertRestoreOptions,
} from '../../engine/check-rare-options.ts';
import { readableDrafts } from '../../engine/readable-draft.ts';
import { blobHash } from '../../storage/blob-references.ts';
import { assertCursor, batchAfter, FollowIterator } from './reference-read.ts';
import { fork, redact, restore, settle } from './reference-rewrite.ts';
import {
  infoOf,
  openWork,
  type ReferenceSession,
  type ReferenceStore,
  refusal,
} from './reference-store.ts';
import { produce, ReferenceDriver } from './reference-writers.ts';

/** Approximate maximum size of one batch in bytes. */
const pageBytes = 2 ** 20;

/**
 * The simplest implementation of the log contract. Tests compare other implementations with it. It uses only
 * arrays and maps, and computes each answer from all records. It is slow, but easy to verify.
 */
export class ReferenceLog implements Log {
  readonly blobs: BlobStore;
  readonly #store: ReferenceStore;
  readonly #drivers: ReferenceDriver[] = [];
  #isClosed = false;

  constructor(store: ReferenceStore) {
    this.#store = store;
    const get = async (hash: string) => this.#open().blobs.get(hash)?.slice();
    const slice = async (hash: string, start: number, end: number) =>
      this.#open().blobs.get(hash)?.slice(start, end);
    this.blobs = { put: (bytes) => this.#put(bytes), get, slice };
  }

  async open(session: SessionId, options: OpenOptions = {}): Promise<Driver> {
    const { holder = 'somebody', leaseMs = 15_000, takeOver = false, from = 0 } = options;
    const store = this.#open();
    assertOpenOptions(session, options);
    const known = store.sessions.get(session);
    assertCursor(known ?? { session, through: 0, incarnation: '' }, options);
    if (known?.isClosed) throw refusal('session_closed', { session });
    if (options.epoch !== undefined)
      return this.#continueLease(session, { ...options, epoch: options.epoch });
    if (known !== undefined && !takeOver && store.isHeld(known))
      throw refusal('held', { holder: known.lease?.holder, epoch: known.lease?.epoch });
    const opened = known ?? store.make(session);
    const epoch = ++store.epochs;
    const now = store.clock.now();
    Object.assign(opened, { lease: { holder, epoch, expiresAt: now + leaseMs }, epoch });
    const isDetached = options.isDetached === true;
    const driver = new ReferenceDriver(store, opened, { epoch, leaseMs, from, isDetached });
    this.#recheckDrivers(session);
    this.#drivers.push(driver);
    return driver;
  }

  /** Continues the existing lease that has this epoch. */
  #continueLease(session: SessionId, options: OpenOptions & { readonly epoch: number }): Driver {
    const { epoch, leaseMs = 15_000, from = 0 } = options;
    const store = this.#open();
    const known = store.sessions.get(session);
    if (known === undefined) throw refusal('no_session', { session });
    if (known.lease?.epoch !== epoch) throw refusal('fenced', { session });
    Object.assign(known.lease, { expiresAt: store.clock.now() + leaseMs });
    const driver = new ReferenceDriver(store, known, { epoch, leaseMs, from, isDetached: true });
    this.#drivers.push(driver);
    return driver;
  }

  async produce(admission: Admission): Promise<Producer> {
    this.#open();
    assertAdmission(admission);
    return produce(() => this.#open(), { ...admission });
  }

  async findCommand(session: SessionId, key: string): Promise<FoundCommand | undefined> {
    const store = this.#open();
    assertSessionId(session);
    assertCommandKey(key, session);
    const found = store.sessions.get(session);
    const offset = found?.commands.get(key);
    if (found === undefined || offset === undefined) return undefined;
    return { offset, isConsumed: !openWork(found.records).has(`command ${key}`) };
  }

  async submit(session: SessionId, command: JsonObject, key: string): Promise<SubmitResult> {
    const store = this.#open();
    assertSessionId(session);
    assertCommandKey(key, session);
    const known = store.sessions.get(session);
    const offset = known?.commands.get(key);
    if (offset !== undefined) return { offset, isRepeat: true };
    if (known?.isClosed) throw refusal('session_closed', { session });
    const fact = { type: 'command_queued', key, command } as const;
    const drafts = readableDrafts([{ turn: 0, attempt: 0, fact }], session);
    const found = known ?? store.make(session);
    store.add(found, drafts, 'command');
    found.commands.set(key, found.through);
    return { offset: found.through, isRepeat: false };
  }

  async read(session: SessionId, options: ReadOptions = {}): Promise<Batch> {
    this.#open();
    assertReadOptions(options, session);
    const { from = 0, maxBytes = pageBytes } = options;
    assertCursor(this.#known(session), options);
    return batchAfter(this.#known(session), from, maxBytes);
  }

  follow(session: SessionId, options: FollowOptions = {}): AsyncIterable<Batch> {
    assertFollowOptions(session, options);
    const { signal: outer, ...rest } = options;
    return new FollowIterator(outer, (signal) => this.#follow(session, { ...rest, signal }));
  }

  async *#follow(session: SessionId, options: FollowOptions): AsyncGenerator<Batch> {
    const { from = 0, until, signal, maxLag = Infinity } = options;
    let hadCaughtUp = false;
    let hasWaited = false;
    const found = this.#known(session);
    assertCursor(found, options);
    const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve));
    for (let { through } = { ...batchAfter(found, from), through: from }; ; ) {
      if (signal?.aborted || this.#isClosed) return;
      if (this.#store.sessions.get(session) !== found) throw refusal('no_session', { session });
      const batch = batchAfter(found, through, pageBytes);
      const isIdle = ![...openWork(found.records)].some((work) => /^(run|turn) /.test(work));
      const isOver = found.isClosed || (until === 'idle' && isIdle);
      if (hadCaughtUp && !hasWaited && found.through - through > maxLag)
        throw refusal('lagged', { session, cursor: through });
      hadCaughtUp ||= batch.through === through;
      hasWaited = batch.through === through;
      through = batch.through;
      if (batch.through > batch.after) {
        yield mergeBatch(batch);
        await this.#yieldToOthers();
      } else if (until !== undefined && isOver) return;
      else await Promise.race([this.#store.changed, aborted]);
    }
  }

  async info(session: SessionId): Promise<SessionInfo | undefined> {
    const store = this.#open();
    assertSessionId(session);
    const found = store.sessions.get(session);
    return found && infoOf(found);
  }

  async list(filter: SessionFilter = {}): Promise<readonly SessionInfo[]> {
    this.#open();
    assertSessionFilter(filter);
    const { isWaiting, isClosed, after: last, limit } = filter;
    const isOf = (found: ReferenceSession) => {
      const info = infoOf(found);
      const waits = info.hasWork && !this.#store.isHeld(found);
      return (isWaiting ?? waits) === waits && (isClosed ?? info.isClosed) === info.isClosed;
    };
    return [...this.#open().sessions.values()]
      .filter(isOf)
      .sort((a, b) => compareBytes(a.session, b.session))
      .filter(({ session }) => !last || compareBytes(session, last) > 0)
      .slice(0, limit)
      .map(infoOf);
  }

  async settle(session: SessionId, turn: number): Promise<boolean> {
    return settle(this.#store, this.#known(session), turn);
  }

  async fork(session: SessionId, options: ForkOptions): Promise<SessionInfo> {
    this.#open();
    assertForkOptions(options);
    return infoOf(fork(this.#store, this.#known(session), options));
  }

  async restore(
    session: SessionId,
    records: readonly LogRecord[],
    options: RestoreOptions = {},
  ): Promise<SessionInfo> {
    const store = this.#open();
    assertSessionId(session);
    assertRestoreOptions(options, session);
    return infoOf(restore(store, session, records, options));
  }

  async redact(session: SessionId, item: ItemId, reason?: string): Promise<void> {
    const found = this.#known(session);
    assertReason(reason, session);
    redact(this.#store, found, item, reason);
  }

  async delete(session: SessionId, { ifThrough }: DeleteOptions = {}): Promise<boolean> {
    const store = this.#open();
    assertSessionId(session);
    const { records = [], through } = store.sessions.get(session) ?? {};
    if (through === undefined || (ifThrough ?? through) !== through) return false;
    store.sessions.delete(session);
    store.dropBlobs(records);
    store.notifyChange();
    this.#recheckDrivers(session);
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const driver of this.#drivers) driver.end(refusal('closed'));
    this.#store.notifyChange();
  }

  async #put(bytes: Uint8Array): Promise<BlobRef> {
    const own = bytes.slice();
    const hash = await blobHash(own);
    this.#open().blobs.set(hash, own);
    this.#store.hold(hash, 1);
    return { hash, length: bytes.length };
  }

  #open(): ReferenceStore {
    if (this.#isClosed) throw refusal('closed');
    return this.#store;
  }

  /** Lets other pending work run before it resolves. */
  #yieldToOthers(): Promise<void> {
    return new Promise((resolve) => this.#store.clock.after(0, resolve));
  }

  /** Makes the drivers of this log check their lease after a takeover or a deletion. */
  #recheckDrivers(session: SessionId): void {
    for (const driver of this.#drivers) if (driver.session === session) driver.recheck();
  }

  #known(session: SessionId): ReferenceSession {
    const store = this.#open();
    assertSessionId(session);
    const found = store.sessions.get(session);
    if (found === undefined) throw refusal('no_session', { session });
    return found;
  }
}

/** Compares the UTF-8 bytes of two ids. Returns a number for `sort`. */
function compareBytes(one: string, other: string): number {
  const encoder = new TextEncoder();
  const [a, b] = [encoder.encode(one), encoder.encode(other)];
  const at = a.findIndex((byte, index) => byte !== b[index]);
  return at < 0 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? -1);
}
