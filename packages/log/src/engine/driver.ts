import type { Batch, DraftRecord, SessionId } from '@millrace/core';
import type { Driver } from '../contract/log.ts';
import { closedError, LogError } from '../contract/log-error.ts';
import type { Admission, AdmitOptions } from '../contract/producer.ts';
import { andThen, type ShelfWriter } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { type Added, addRecords } from './append-records.ts';
import { assertAdmitting } from './check-options.ts';
import { assertDrives, LeaseKeeper } from './lease.ts';
import type { Store } from './log-context.ts';
import { admitted } from './producer.ts';
import { readableDrafts } from './readable-draft.ts';

interface LeaseTerms {
  readonly session: SessionId;
  readonly epoch: number;
  readonly leaseMs: number;
  readonly from: number;
  readonly isDetached: boolean;
}

/** What a commit left: what is new, and what the driver has not been given yet. */
interface Stored extends Added {
  readonly batch: Batch;
}

export class LocalDriver implements Driver {
  readonly session: SessionId;
  readonly epoch: number;
  readonly lost: Promise<Error>;
  readonly #store: Store;
  readonly #leaseMs: number;
  readonly #producer: string;
  readonly #keeper: LeaseKeeper;
  /** The lease is another's, who is not asked whether it ends. */
  readonly #isDetached: boolean;
  /** Up to where it was given records. */
  #given: number;
  /** Up to where it will have been, once what is done in that round is committed. */
  #due: { readonly round: number; readonly through: number } | undefined;
  #tellLost: (error: Error) => void = () => {};
  /** Why nothing is taken from it any more. */
  #end: Error | undefined;
  /** Why nothing of it is stored any more, not even what it gave before. */
  #failure: Error | undefined;
  #isGivenBack = false;
  /** It is over because that was asked for: nothing is lost. */
  #isReleased = false;

  constructor(store: Store, { session, epoch, leaseMs, from, isDetached }: LeaseTerms) {
    this.#store = store;
    this.session = session;
    this.epoch = epoch;
    this.#leaseMs = leaseMs;
    this.#producer = `driver ${epoch}`;
    this.#given = from;
    this.#isDetached = isDetached;
    this.lost = new Promise((resolve) => {
      this.#tellLost = resolve;
    });
    store.drivers.add(this);
    const renew = (shelf: ShelfWriter) => shelf.putSession(this.#renewed(this.#driven(shelf)));
    const look = () =>
      andThen(store.reader.session(session), (row) => assertDrives(row, epoch, session));
    const onLost = (error: unknown) => this.lose(error);
    this.#keeper = new LeaseKeeper(store, { leaseMs, renew, look, onLost });
  }

  append(drafts: readonly DraftRecord[]): Promise<Batch> {
    let ready: readonly DraftRecord[];
    try {
      // At once, so that it does not matter what becomes of the drafts afterwards.
      ready = readableDrafts(drafts, this.session);
    } catch (error) {
      return this.#refuse(error);
    }
    return this.#write((shelf, row) => this.#insert(shelf, row, ready));
  }

  async admit(options: AdmitOptions): Promise<Admission> {
    const { session, epoch: driverEpoch } = this;
    if (this.#end !== undefined) throw this.#end;
    assertAdmitting(options, session);
    const asked = { ...options };
    const admit = (shelf: ShelfWriter) => {
      const row = admitted(this.#driven(shelf), asked);
      const known = shelf.producer(session, row.producer);
      // A request that is asked for again goes on counting its attempts.
      const attempt = row.isRequest ? (known?.attempt ?? 0) : row.attempt;
      // Whoever writes by it already goes on.
      if (known?.driverEpoch !== driverEpoch)
        shelf.putProducer({ ...row, attempt, epoch: known?.epoch ?? 0 });
      return { session, driverEpoch, producer: row.producer };
    };
    return this.#store.commits.run(admit, { fail: (error) => this.lose(error) });
  }

  async closeSession(): Promise<Batch> {
    const closed = await this.#write((shelf, row) => {
      const stored = this.#insert(shelf, row, []);
      const last = { ...stored.row, isClosed: true, lease: undefined };
      shelf.putSession(last);
      return { ...stored, row: last };
    });
    this.#isReleased = true;
    this.#isGivenBack = true;
    this.#stop(closedError(this));
    return closed;
  }

  release(): Promise<void> {
    this.#isReleased = true;
    this.#stop(released(this.session, this.epoch));
    return this.#giveBack();
  }

  leave(): void {
    this.#isReleased = true;
    this.#stop(left(this.session, this.epoch));
    this.#forget();
  }

  /** The log is closed. */
  async end(why: Error): Promise<void> {
    if (this.#end === undefined) this.#tellLost(why);
    this.#stop(why);
    if (!this.#isDetached) await this.#giveBack();
  }

  /** After a failure nobody knows what a later append would follow, so there is none. */
  lose(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = error instanceof Error ? error : new Error(String(error));
    if (!this.#isReleased) this.#tellLost(this.#failure);
    this.#stop(this.#failure);
    if (this.#isDetached) return this.#forget();
    this.#store.lostEpochs.add(this.epoch);
    // Not now: a transaction may be under way. Where it cannot be given back, it ends by itself.
    queueMicrotask(() => this.#giveBack().catch(() => {}));
  }

  /** What it gave before it stops is stored all the same. */
  #stop(why: Error): void {
    this.#end ??= why;
    this.#keeper.stop();
    if (this.#isGivenBack) this.#forget();
  }

  #forget(): void {
    this.#store.drivers.delete(this);
  }

  async #giveBack(): Promise<void> {
    if (this.#isGivenBack) return;
    const { commits, lostEpochs } = this.#store;
    await commits.run((shelf) => {
      const row = shelf.session(this.session);
      if (row?.epoch === this.epoch && row.lease !== undefined)
        shelf.putSession({ ...row, lease: undefined });
    });
    this.#isGivenBack = true;
    this.#forget();
    lostEpochs.delete(this.epoch);
  }

  #write(work: (shelf: ShelfWriter, row: SessionRow) => Stored): Promise<Batch> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const { commits, feeds } = this.#store;
    let stored: Stored;
    return commits.run(
      (shelf) => {
        stored = work(shelf, this.#driven(shelf));
        return stored.batch;
      },
      {
        tell: ({ through }) => {
          this.#given = through;
          feeds.push(stored.row, stored.records);
        },
        fail: (error) => this.lose(error),
      },
    );
  }

  /** In its place: what was given before it is stored, and what comes after it is not. */
  async #refuse(error: unknown): Promise<never> {
    if (this.#end !== undefined) throw this.#end;
    this.#end = error instanceof Error ? error : new Error(String(error));
    const refuse = () => {
      throw error;
    };
    const refused = this.#store.commits.run(refuse, { fail: (why) => this.lose(why) });
    // Whoever hears of it finds the session free.
    return refused.catch(async (why: unknown) => {
      await this.#giveBack().catch(() => {});
      throw why;
    });
  }

  #insert(shelf: ShelfWriter, row: SessionRow, drafts: readonly DraftRecord[]): Stored {
    const { commits, clock } = this.#store;
    const { round } = commits;
    const after = this.#due?.round === round ? this.#due.through : this.#given;
    const others = this.#store.recordsBetween(shelf, this.session, after, row.through);
    const added = addRecords(shelf, this.#renewed(row), drafts, this.#producer, clock.now());
    const { through } = added.row;
    this.#due = { round, through };
    const records = others.length === 0 ? added.records : [...others, ...added.records];
    return { ...added, batch: { after, through, records } };
  }

  #renewed(row: SessionRow): SessionRow {
    const expiresAt = this.#store.clock.now() + this.#leaseMs;
    return { ...row, lease: row.lease && { ...row.lease, expiresAt } };
  }

  #driven(shelf: ShelfWriter): SessionRow {
    if (this.#failure !== undefined) throw this.#failure;
    const row = shelf.session(this.session);
    assertDrives(row, this.epoch, this.session);
    return row;
  }
}

function left(session: SessionId, epoch: number): LogError {
  const message = `Cannot append to session ${session} as epoch ${epoch}: this driver left it. Open it with that epoch`;
  return new LogError('fenced', message, { session, own: epoch });
}

function released(session: SessionId, epoch: number): LogError {
  const message = `Cannot append to session ${session} as epoch ${epoch}: the lease was given back or lost. Open it again`;
  return new LogError('fenced', message, { session, own: epoch });
}
