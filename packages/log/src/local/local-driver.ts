import type { Batch, DraftRecord, LogRecord, SessionId } from '@millrace/core';
import type { Driver } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { Admission, AdmitOptions } from '../contract/producer.ts';
import { assertDrives, closedError } from '../rules/lease.ts';
import { numberRecords } from '../rules/number-records.ts';
import { admitted } from '../rules/produce.ts';
import type { SessionRow } from '../shelf/rows.ts';
import type { ShelfWriter } from '../shelf/shelf.ts';
import type { Clock } from './clock.ts';
import type { Store } from './store.ts';

export interface LeaseTerms {
  readonly session: SessionId;
  readonly epoch: number;
  readonly leaseMs: number;
  readonly from: number;
}

/** What a commit left: the row, what is new, and what the driver has not been given yet. */
interface Stored {
  readonly row: SessionRow;
  readonly own: readonly LogRecord[];
  readonly batch: Batch;
}

export class LocalDriver implements Driver {
  readonly session: SessionId;
  readonly epoch: number;
  readonly lost: Promise<Error>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  /** Up to where it was given records. */
  #given: number;
  /** Up to where it will have been, once the transaction of that number is committed. */
  #due: { readonly transaction: number; readonly through: number } | undefined;
  #tellLost: (error: Error) => void = () => {};
  #cancelRenewal: () => void = () => {};
  /** Why it drives no more: what every later append throws. */
  #end: Error | undefined;

  constructor(store: Store, { session, epoch, leaseMs, from }: LeaseTerms) {
    this.#store = store;
    this.#clock = store.clock;
    this.session = session;
    this.epoch = epoch;
    this.#leaseMs = leaseMs;
    this.#given = from;
    this.lost = new Promise((resolve) => {
      this.#tellLost = resolve;
    });
    store.drivers.add(this);
    this.#renewLater();
  }

  append(drafts: readonly DraftRecord[]): Promise<Batch> {
    return this.#write((shelf, row) => this.#insert(shelf, row, drafts));
  }

  async admit(options: AdmitOptions): Promise<Admission> {
    const { session, epoch: driverEpoch } = this;
    return this.#unlessLost(() =>
      this.#store.commits.run((shelf) => {
        const asked = admitted(this.#driven(shelf), options);
        const known = shelf.producer(session, asked.producer);
        // A request that is asked for again goes on counting its attempts.
        const attempt = asked.isRequest ? (known?.attempt ?? 0) : asked.attempt;
        // Whoever writes by it already goes on.
        if (known?.driverEpoch !== driverEpoch)
          shelf.putProducer({ ...asked, attempt, epoch: known?.epoch ?? 0 });
        return { session, driverEpoch, producer: asked.producer };
      }),
    );
  }

  async closeSession(): Promise<Batch> {
    const closed = await this.#write((shelf, row) => {
      const stored = this.#insert(shelf, row, []);
      const last = { ...stored.row, isClosed: true, lease: undefined };
      shelf.putSession(last);
      return { ...stored, row: last };
    });
    this.#stop(closedError(this));
    return closed;
  }

  release(): Promise<void> {
    return this.#giveBack(released(this.session, this.epoch));
  }

  end(why: Error): Promise<void> {
    if (this.#end === undefined) this.#tellLost(why);
    return this.#giveBack(why);
  }

  async #giveBack(why: Error): Promise<void> {
    if (this.#end !== undefined) return;
    this.#stop(why);
    await this.#store.commits.run((shelf) => {
      const row = shelf.session(this.session);
      if (row?.epoch === this.epoch && !row.isClosed)
        shelf.putSession({ ...row, lease: undefined });
    });
  }

  async #write(work: (shelf: ShelfWriter, row: SessionRow) => Stored): Promise<Batch> {
    const { batch } = await this.#unlessLost(() =>
      this.#store.commits.run(
        (shelf) => work(shelf, this.#driven(shelf)),
        ({ row, own, batch: told }) => {
          this.#given = told.through;
          this.#store.feeds.push(row, own);
        },
      ),
    );
    return batch;
  }

  async #unlessLost<T>(work: () => Promise<T>): Promise<T> {
    if (this.#end !== undefined) throw this.#end;
    try {
      return await work();
    } catch (error) {
      // After a failure nobody knows what a later append would follow.
      this.#lose(error);
      throw error;
    }
  }

  #insert(shelf: ShelfWriter, row: SessionRow, drafts: readonly DraftRecord[]): Stored {
    const { transactions: transaction } = this.#store.commits;
    const after = this.#due?.transaction === transaction ? this.#due.through : this.#given;
    const others = this.#store.recordsBetween(shelf, this.session, after, row.through);
    const now = this.#clock.now();
    const { row: next, records: own } = numberRecords(row, drafts, `driver ${this.epoch}`, now);
    const renewed = {
      ...next,
      lease: next.lease && { ...next.lease, expiresAt: now + this.#leaseMs },
    };
    shelf.insert(this.session, own);
    shelf.putSession(renewed);
    const batch = { after, through: next.through, records: [...others, ...own] };
    this.#due = { transaction, through: next.through };
    return { row: renewed, own, batch };
  }

  #driven(shelf: ShelfWriter): SessionRow {
    const row = shelf.session(this.session);
    assertDrives(row, this.epoch, this.session);
    return row;
  }

  #renewLater(): void {
    if (this.#end !== undefined || !Number.isFinite(this.#leaseMs)) return;
    const renew = () => {
      this.#renew().then(
        () => this.#renewLater(),
        (error: unknown) => this.#lose(error),
      );
    };
    this.#cancelRenewal = this.#clock.after(this.#leaseMs / 3, renew, { isIdle: true });
  }

  #renew(): Promise<void> {
    return this.#store.commits.run((shelf) => {
      const row = this.#driven(shelf);
      const expiresAt = this.#clock.now() + this.#leaseMs;
      shelf.putSession({ ...row, lease: row.lease && { ...row.lease, expiresAt } });
    });
  }

  #lose(error: unknown): void {
    const why = error instanceof Error ? error : new Error(String(error));
    if (this.#end === undefined) {
      this.#tellLost(why);
      this.#store.lostEpochs.add(this.epoch);
    }
    this.#stop(why);
  }

  #stop(why: Error): void {
    this.#end ??= why;
    this.#cancelRenewal();
    this.#store.drivers.delete(this);
  }
}

function released(session: SessionId, epoch: number): LogError {
  const message = `Cannot append to session ${session} as epoch ${epoch}: the lease was given back or lost. Open it again`;
  return new LogError('fenced', message, { session, own: epoch });
}
