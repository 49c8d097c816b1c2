import type { Batch, DraftRecord, SessionId } from '@millrace/core';
import type { Driver } from '../contract/log.ts';
import { closedError, LogError } from '../contract/log-error.ts';
import type { Admission, AdmitOptions } from '../contract/producer.ts';
import { andThen, type StoreTransaction } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { type AddedRecords, addRecords } from './append-records.ts';
import { assertAdmitOptions } from './check-options.ts';
import { assertIsDriver, LeaseKeeper } from './lease.ts';
import type { LogContext } from './log-context.ts';
import { admittedProducer } from './producer.ts';
import { readableDrafts } from './readable-draft.ts';

interface LeaseTerms {
  readonly session: SessionId;
  readonly epoch: number;
  readonly leaseMs: number;
  readonly from: number;
  readonly isDetached: boolean;
}

/** What a commit left: what is new, and what the driver has not been given yet. */
interface StoredBatch extends AddedRecords {
  readonly batch: Batch;
}

export class StoreDriver implements Driver {
  readonly session: SessionId;
  readonly epoch: number;
  readonly lost: Promise<Error>;
  readonly #context: LogContext;
  readonly #leaseMs: number;
  readonly #producer: string;
  readonly #keeper: LeaseKeeper;
  /** The lease is another's, who is not asked whether it ends. */
  readonly #isDetached: boolean;
  /** Up to where it was given records. */
  #deliveredThrough: number;
  /** Up to where it will have been, once what is done in that round is committed. */
  #pendingDelivery: { readonly round: number; readonly through: number } | undefined;
  #resolveLost: (error: Error) => void = () => {};
  /** Why nothing is taken from it any more. */
  #endReason: Error | undefined;
  /** Why nothing of it is stored any more, not even what it gave before. */
  #failure: Error | undefined;
  #isLeaseReturned = false;
  /** It is over because that was asked for: nothing is lost. */
  #isReleased = false;

  constructor(context: LogContext, { session, epoch, leaseMs, from, isDetached }: LeaseTerms) {
    this.#context = context;
    this.session = session;
    this.epoch = epoch;
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
      // At once, so that it does not matter what becomes of the drafts afterwards.
      ready = readableDrafts(drafts, this.session);
    } catch (error) {
      return this.#rejectInOrder(error);
    }
    return this.#write((tx, row) => this.#insert(tx, row, ready));
  }

  async admit(options: AdmitOptions): Promise<Admission> {
    const { session, epoch: driverEpoch } = this;
    if (this.#endReason !== undefined) throw this.#endReason;
    assertAdmitOptions(options, session);
    const asked = { ...options };
    const admit = (tx: StoreTransaction) => {
      const row = admittedProducer(this.#requireLease(tx), asked);
      const known = tx.producer(session, row.producer);
      // A request that is asked for again goes on counting its attempts.
      const attempt = row.isRequest ? (known?.attempt ?? 0) : row.attempt;
      // Whoever writes by it already goes on.
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

  leave(): void {
    this.#isReleased = true;
    this.#stop(leftError(this.session, this.epoch));
    this.#unregister();
  }

  /** The log is closed. */
  async close(why: Error): Promise<void> {
    if (this.#endReason === undefined) this.#resolveLost(why);
    this.#stop(why);
    if (!this.#isDetached) await this.#returnLease();
  }

  /** After a failure nobody knows what a later append would follow, so there is none. */
  loseLease(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = error instanceof Error ? error : new Error(String(error));
    if (!this.#isReleased) this.#resolveLost(this.#failure);
    this.#stop(this.#failure);
    if (this.#isDetached) return this.#unregister();
    this.#context.lostEpochs.add(this.epoch);
    // Not now: a transaction may be under way. Where it cannot be given back, it ends by itself.
    queueMicrotask(() => this.#returnLease().catch(() => {}));
  }

  /** What it gave before it stops is stored all the same. */
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

  #write(work: (tx: StoreTransaction, row: SessionRow) => StoredBatch): Promise<Batch> {
    if (this.#endReason !== undefined) return Promise.reject(this.#endReason);
    const { commits, feeds } = this.#context;
    let stored: StoredBatch;
    return commits.run(
      (tx) => {
        stored = work(tx, this.#requireLease(tx));
        return stored.batch;
      },
      {
        onCommitted: ({ through }) => {
          this.#deliveredThrough = through;
          feeds.push(stored.row, stored.records);
        },
        onFailed: (error) => this.loseLease(error),
      },
    );
  }

  /** In its place: what was given before it is stored, and what comes after it is not. */
  async #rejectInOrder(error: unknown): Promise<never> {
    if (this.#endReason !== undefined) throw this.#endReason;
    this.#endReason = error instanceof Error ? error : new Error(String(error));
    const refuse = () => {
      throw error;
    };
    const refused = this.#context.commits.run(refuse, { onFailed: (why) => this.loseLease(why) });
    // Whoever hears of it finds the session free.
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
    const others = this.#context.recordsBetween(tx, this.session, after, row.through);
    const added = addRecords(tx, this.#withRenewedLease(row), drafts, this.#producer, clock.now());
    const { through } = added.row;
    this.#pendingDelivery = { round, through };
    const records = others.length === 0 ? added.records : [...others, ...added.records];
    return { ...added, batch: { after, through, records } };
  }

  #withRenewedLease(row: SessionRow): SessionRow {
    const expiresAt = this.#context.clock.now() + this.#leaseMs;
    return { ...row, lease: row.lease && { ...row.lease, expiresAt } };
  }

  #requireLease(tx: StoreTransaction): SessionRow {
    if (this.#failure !== undefined) throw this.#failure;
    const row = tx.session(this.session);
    assertIsDriver(row, this.epoch, this.session);
    return row;
  }
}

function leftError(session: SessionId, epoch: number): LogError {
  const message = `Cannot append to session ${session} as epoch ${epoch}: this driver left it. Open it with that epoch`;
  return new LogError('fenced', message, { session, own: epoch });
}

function releasedError(session: SessionId, epoch: number): LogError {
  const message = `Cannot append to session ${session} as epoch ${epoch}: the lease was given back or lost. Open it again`;
  return new LogError('fenced', message, { session, own: epoch });
}
