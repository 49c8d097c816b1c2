import type { Batch, DraftRecord, LogRecord, SessionId } from '@millrace/core';
import type { Driver } from '../contract/log.ts';
import { closedError, LogError } from '../contract/log-error.ts';
import type { Admission, AdmitOptions } from '../contract/producer.ts';
import { incarnationText } from '../storage/incarnation.ts';
import { andThen, type StoreTransaction } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { type AddedRecords, addRecords } from './append-records.ts';
import { assertIsDriver, LeaseKeeper } from './lease.ts';
import type { LogContext } from './log-context.ts';
import { isStreamText, readableDrafts } from './readable-draft.ts';
import { StreamedAppends } from './streamed-appends.ts';

interface LeaseTerms {
  /** The session row with the new lease. */
  readonly row: SessionRow;
  readonly leaseMs: number;
  readonly from: number;
  readonly isDetached: boolean;
}

/** The result of a commit: the new records, and the batch to deliver to the driver. */
interface StoredBatch extends AddedRecords {
  readonly batch: Batch;
}

export class StoreDriver implements Driver {
  readonly session: SessionId;
  readonly epoch: number;
  readonly incarnation: string;
  readonly openedThrough: number;
  readonly lost: Promise<Error>;
  readonly #context: LogContext;
  readonly #leaseMs: number;
  readonly #producer: string;
  readonly #keeper: LeaseKeeper;
  /** True if the lease belongs to a workflow. The lease then stays valid when this log closes. */
  readonly #isDetached: boolean;
  /** The offset up to which the driver has received records. */
  #deliveredThrough: number;
  /**
   * The offset up to which the driver will have received records when the transaction of this round is
   * committed.
   */
  #pendingDelivery: { readonly round: number; readonly through: number } | undefined;
  /** The last append, if it is streamed text that may still wait for its transaction. */
  #waiting: StreamedAppends | undefined;
  #resolveLost: (error: Error) => void = () => {};
  /** The reason why the driver accepts no more calls. Undefined while it accepts calls. */
  #endReason: Error | undefined;
  /** The reason why the driver can no longer store, not even queued appends. Undefined while it can store. */
  #failure: Error | undefined;
  #isLeaseReturned = false;
  /** True if the caller itself ended the driver. `lost` then never resolves. */
  #isReleased = false;

  constructor(context: LogContext, { row, leaseMs, from, isDetached }: LeaseTerms) {
    const { session, epoch } = row;
    this.#context = context;
    this.session = session;
    this.epoch = epoch;
    this.incarnation = incarnationText(row);
    this.openedThrough = row.through;
    this.#leaseMs = leaseMs;
    this.#producer = `driver ${epoch}`;
    this.#deliveredThrough = from;
    this.#isDetached = isDetached;
    this.lost = new Promise((resolve) => {
      this.#resolveLost = resolve;
    });
    context.drivers.add(this);
    const renew = (tx: StoreTransaction) =>
      tx.putSession(this.#withRenewedLease(this.#requireLease(tx)));
    const look = () =>
      andThen(context.reader.session(session), (row) => assertIsDriver(row, epoch, session));
    const onLost = (error: unknown) => this.loseLease(error);
    this.#keeper = new LeaseKeeper(context, { leaseMs, renew, check: look, onLost });
  }

  append(drafts: readonly DraftRecord[]): Promise<Batch> {
    let ready: readonly DraftRecord[];
    try {
      // Copies the drafts immediately, so that later changes to the caller's objects have no effect.
      ready = readableDrafts(drafts, this.session);
    } catch (error) {
      return this.#rejectInOrder(error);
    }
    if (isStreamText(ready)) return this.#stream(ready);
    return this.#write((tx, row) => this.#insert(tx, row, ready));
  }

  /** Appends streamed text. If an earlier append of streamed text still waits, both are stored together. */
  #stream(drafts: readonly DraftRecord[]): Promise<Batch> {
    const joined = this.#endReason === undefined ? this.#waiting?.join(drafts) : undefined;
    if (joined !== undefined) return joined;
    const appends = new StreamedAppends(drafts);
    const stored = this.#write((tx, row) => {
      const added = this.#insert(tx, row, appends.start());
      const batch = appends.split(added.batch);
      return batch === added.batch ? added : { ...added, batch };
    }, appends);
    // A store in memory has already stored the append.
    this.#waiting = appends.isStarted ? undefined : appends;
    return stored;
  }

  async admit(options: AdmitOptions): Promise<Admission> {
    const { session, epoch: driverEpoch } = this;
    if (this.#endReason !== undefined) throw this.#endReason;
    const asked = { ...options };
    const [{ admittedProducer }, { assertAdmitOptions }] = await Promise.all([
      import('./producer.ts'),
      import('./check-rare-options.ts'),
    ]);
    assertAdmitOptions(asked, session);
    const admit = (tx: StoreTransaction) => {
      const row = admittedProducer(this.#requireLease(tx), asked);
      const known = tx.producer(session, row.producer);
      // If the driver admits the same request again, the attempt numbers continue.
      const attempt = row.isRequest ? (known?.attempt ?? 0) : row.attempt;
      // If this driver has admitted the producer before, the producer keeps its state.
      if (known?.driverEpoch !== driverEpoch)
        tx.putProducer({ ...row, attempt, epoch: known?.epoch ?? 0 });
      return { session, driverEpoch, producer: row.producer };
    };
    return this.#context.commits.run(admit, { onFailed: (error) => this.loseLease(error) });
  }

  async closeSession(): Promise<Batch> {
    const closed = await this.#write((tx, row) => {
      const stored = this.#insert(tx, row, []);
      const last = { ...stored.row, isClosed: true, lease: undefined };
      tx.putSession(last);
      return { ...stored, row: last };
    });
    this.#isReleased = true;
    this.#isLeaseReturned = true;
    this.#stop(closedError(this));
    return closed;
  }

  release(): Promise<void> {
    this.#isReleased = true;
    this.#stop(releasedError(this.session, this.epoch));
    return this.#returnLease();
  }

  detach(): void {
    this.#isReleased = true;
    this.#stop(leftError(this.session, this.epoch));
    this.#unregister();
  }

  /** Ends the driver because the log is closed. */
  async close(why: Error): Promise<void> {
    if (this.#endReason === undefined) this.#resolveLost(why);
    this.#stop(why);
    if (!this.#isDetached) await this.#returnLease();
  }

  /**
   * Ends the driver after a failure. After a failed append, the driver does not know its position in the log,
   * so it accepts no more appends.
   */
  loseLease(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = error instanceof Error ? error : new Error(String(error));
    if (!this.#isReleased) this.#resolveLost(this.#failure);
    this.#stop(this.#failure);
    if (this.#isDetached) return this.#unregister();
    this.#context.lostEpochs.add(this.epoch);
    // Returns the lease after the current code, because a transaction may be running now. If the return
    // fails, the lease expires later.
    queueMicrotask(() => this.#returnLease().catch(() => {}));
  }

  /** Makes the driver refuse new calls. The log still stores appends that are already queued. */
  #stop(why: Error): void {
    this.#endReason ??= why;
    this.#keeper.stop();
    if (this.#isLeaseReturned) this.#unregister();
  }

  #unregister(): void {
    this.#context.drivers.delete(this);
  }

  async #returnLease(): Promise<void> {
    if (this.#isLeaseReturned) return;
    const { commits, lostEpochs } = this.#context;
    await commits.run((tx) => {
      const row = tx.session(this.session);
      if (row?.epoch === this.epoch && row.lease !== undefined)
        tx.putSession({ ...row, lease: undefined });
    });
    this.#isLeaseReturned = true;
    this.#unregister();
    lostEpochs.delete(this.epoch);
  }

  #write(
    work: (tx: StoreTransaction, row: SessionRow) => StoredBatch,
    joined?: StreamedAppends,
  ): Promise<Batch> {
    if (this.#endReason !== undefined) return Promise.reject(this.#endReason);
    const { commits, feeds } = this.#context;
    // A later append of streamed text must not join an append before this one.
    this.#waiting = undefined;
    let stored: StoredBatch;
    return commits.run(
      (tx) => {
        stored = work(tx, this.#requireLease(tx));
        return stored.batch;
      },
      {
        isStreamed: joined !== undefined,
        joined,
        session: this.session,
        onCommitted: () => {
          this.#deliveredThrough = stored.row.through;
          feeds.push(stored.row, stored.records);
        },
        onFailed: (error) => this.loseLease(error),
      },
    );
  }

  /**
   * Rejects this call in the order of the calls: earlier appends are stored first, and later appends are
   * refused.
   */
  async #rejectInOrder(error: unknown): Promise<never> {
    if (this.#endReason !== undefined) throw this.#endReason;
    this.#endReason = error instanceof Error ? error : new Error(String(error));
    const refuse = () => {
      throw error;
    };
    const refused = this.#context.commits.run(refuse, { onFailed: (why) => this.loseLease(why) });
    // Returns the lease before it throws. A caller that handles the error can then open the session again.
    return refused.catch(async (why: unknown) => {
      await this.#returnLease().catch(() => {});
      throw why;
    });
  }

  #insert(tx: StoreTransaction, row: SessionRow, drafts: readonly DraftRecord[]): StoredBatch {
    const { commits, clock } = this.#context;
    const { round } = commits;
    const after =
      this.#pendingDelivery?.round === round
        ? this.#pendingDelivery.through
        : this.#deliveredThrough;
    const others =
      after >= row.through
        ? none
        : this.#context.recordsBetween(tx, this.session, after, row.through);
    const now = clock.now();
    const held = this.#isFresh(row, now) ? row : this.#withRenewedLease(row);
    const added = addRecords(tx, held, drafts, this.#producer, now);
    const { through } = added.row;
    this.#pendingDelivery = { round, through };
    const records = others.length === 0 ? added.records : [...others, ...added.records];
    return { ...added, batch: { after, through, records } };
  }

  /** Returns whether the lease was renewed a short time ago. An append then does not have to renew it. */
  #isFresh({ lease }: SessionRow, now: number): boolean {
    if (lease === undefined || lease.expiresAt === Number.POSITIVE_INFINITY) return true;
    const ageMs = now - (lease.expiresAt - this.#leaseMs);
    return ageMs >= 0 && ageMs < this.#leaseMs * freshShare;
  }

  #withRenewedLease(row: SessionRow): SessionRow {
    const times = this.#context.leases.times(this.#leaseMs);
    return { ...row, lease: row.lease && { ...row.lease, ...times } };
  }

  #requireLease(tx: StoreTransaction): SessionRow {
    if (this.#failure !== undefined) throw this.#failure;
    const row = tx.session(this.session);
    assertIsDriver(row, this.epoch, this.session);
    return row;
  }
}

const none: readonly LogRecord[] = [];

/** An append renews the lease if more than this share of its duration has passed. */
const freshShare = 1 / 16;

function leftError(session: SessionId, epoch: number): LogError {
  const message = `Cannot append to session ${session} as epoch ${epoch}: this driver left the session. Open it with that epoch`;
  return new LogError('fenced', message, { session, own: epoch });
}

function releasedError(session: SessionId, epoch: number): LogError {
  const message = `Cannot append to session ${session} as epoch ${epoch}: the lease was released or lost. Open the session again`;
  return new LogError('fenced', message, { session, own: epoch });
}
