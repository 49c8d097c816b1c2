import type { Batch, DraftRecord, SessionId } from '@millrace/core';
import type { Driver } from '../../contract/log.ts';
import type { Admission, AdmitOptions, AppendAck, Producer } from '../../contract/producer.ts';
import { assertAdmitOptions } from '../../engine/check-rare-options.ts';
import { readableDrafts } from '../../engine/readable-draft.ts';
import {
  type ProducerState,
  type ReferenceSession,
  type ReferenceStore,
  refusal,
} from './reference-store.ts';

interface DriverTerms {
  readonly epoch: number;
  readonly leaseMs: number;
  readonly from: number;
  readonly isDetached: boolean;
}

interface EndOptions {
  readonly isLoss?: boolean;
  readonly isGivenBack?: boolean;
}

export class ReferenceDriver implements Driver {
  readonly session: SessionId;
  readonly epoch: number;
  readonly incarnation: string;
  readonly lost: Promise<Error>;
  readonly #store: ReferenceStore;
  readonly #leaseMs: number;
  readonly #isDetached: boolean;
  readonly #resolveLost: (error: Error) => void;
  #deliveredThrough: number;
  /** The reason why the driver ended. Undefined while it has not ended. */
  #endReason: Error | undefined;

  constructor(store: ReferenceStore, found: ReferenceSession, terms: DriverTerms) {
    const { epoch, leaseMs, from, isDetached } = terms;
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.#store = store;
    this.#leaseMs = leaseMs;
    this.#resolveLost = resolve;
    this.#deliveredThrough = from;
    this.#isDetached = isDetached;
    this.session = found.session;
    this.incarnation = found.incarnation;
    this.epoch = epoch;
    this.lost = promise;
    this.#renewLater();
  }

  async append(drafts: readonly DraftRecord[]): Promise<Batch> {
    const driven = this.#requireLease();
    this.#renew(driven);
    try {
      this.#store.add(driven, drafts, `driver ${this.epoch}`);
    } catch (error) {
      // After a failure, the position of the driver in the log is unknown, so it ends.
      this.end(error as Error);
      throw error;
    }
    const { through, records } = driven;
    const after = this.#deliveredThrough;
    this.#deliveredThrough = through;
    return { after, through, records: records.filter(({ offset }) => offset > after) };
  }

  async admit(options: AdmitOptions): Promise<Admission> {
    const { session, producers } = this.#requireLease();
    assertAdmitOptions(options, session);
    const { epoch: driverEpoch } = this;
    const isRequest = options.for === 'request';
    const call = isRequest ? { attempt: 0, toolCallId: '' } : options;
    const producer = [options.for, options.turn, call.attempt, call.toolCallId].join(' ');
    const known = producers.get(producer);
    const counted = { attempt: call.attempt, epoch: 0, ...known };
    const fresh = { ...counted, sequence: 0, through: 0, driverEpoch, isRequest };
    // If this driver admitted the producer before, the producer keeps its state.
    if (known?.driverEpoch !== driverEpoch)
      producers.set(producer, { ...fresh, turn: options.turn });
    return { session, driverEpoch, producer };
  }

  async closeSession(): Promise<Batch> {
    const last = await this.append([]);
    const driven = this.#requireLease();
    Object.assign(driven, { isClosed: true, lease: undefined });
    this.#endReason = refusal('session_closed', { session: this.session });
    this.#store.notifyChange();
    return last;
  }

  async release(): Promise<void> {
    this.end(refusal('fenced', { session: this.session }), { isLoss: false, isGivenBack: true });
  }

  detach(): void {
    this.end(refusal('fenced', { session: this.session }), { isLoss: false, isGivenBack: false });
  }

  /** Ends the driver. If the driver still holds the lease, it returns the lease. */
  end(why: Error, { isLoss = true, isGivenBack = !this.#isDetached }: EndOptions = {}): void {
    const driven = this.#store.sessions.get(this.session);
    if (isGivenBack && driven?.lease?.epoch === this.epoch) driven.lease = undefined;
    if (this.#endReason === undefined && isLoss) this.#resolveLost(why);
    this.#endReason ??= why;
  }

  /**
   * Checks whether the driver still holds the lease, and renews it. Returns undefined if the driver has
   * ended.
   */
  recheck(): ReferenceSession | undefined {
    try {
      const driven = this.#requireLease();
      this.#renew(driven);
      return driven;
    } catch {
      // The driver has ended. If the driver lost its lease, the promise `lost` has already resolved.
      return undefined;
    }
  }

  #requireLease(): ReferenceSession {
    if (this.#endReason !== undefined) throw this.#endReason;
    const found = this.#store.sessions.get(this.session);
    if (found?.lease?.epoch === this.epoch) return found;
    const code = found?.isClosed ? 'session_closed' : 'fenced';
    const why = refusal(found === undefined ? 'no_session' : code, { session: this.session });
    this.end(why);
    throw why;
  }

  #renew({ lease }: ReferenceSession): void {
    const expiresAt = this.#store.clock.now() + this.#leaseMs;
    if (lease !== undefined) Object.assign(lease, { expiresAt });
  }

  #renewLater(): void {
    if (this.#endReason !== undefined) return;
    const isEndless = this.#leaseMs === Number.POSITIVE_INFINITY;
    this.#store.clock.after(isEndless ? 5000 : Math.min(this.#leaseMs / 3, 3_600_000), () => {
      if (this.recheck() !== undefined) this.#renewLater();
    });
  }
}

/**
 * Opens an admission. This fences the producer that opened the same admission before. For a request, it
 * also supersedes that producer's attempt.
 */
export function produce(openStore: () => ReferenceStore, admission: Admission): Producer {
  const store = openStore();
  const [found, row] = admitted(store, admission);
  const { turn, isRequest } = row;
  const fact = { type: 'attempt_superseded', reason: 'opened again' } as const;
  if (isRequest && row.epoch > 0) store.add(found, [{ turn, attempt: row.attempt, fact }], 'store');
  if (isRequest) row.attempt++;
  Object.assign(row, { epoch: row.epoch + 1, sequence: 0 });
  const { epoch, attempt } = row;
  const append = async (drafts: readonly DraftRecord[], sequence: number): Promise<AppendAck> => {
    const isOwn = (draft: DraftRecord) => draft.turn === turn && draft.attempt === attempt;
    if (!readableDrafts(drafts, admission.session).every(isOwn)) throw refusal('bad_records');
    const [session, state] = admitted(openStore(), admission, epoch);
    if (!Number.isInteger(sequence) || sequence < 1 || sequence > state.sequence + 1)
      throw refusal('bad_sequence');
    if (sequence <= state.sequence) return { through: state.through, isRepeat: true };
    store.add(session, drafts, 'producer');
    Object.assign(state, { sequence, through: session.through });
    return { through: session.through, isRepeat: false };
  };
  return { session: admission.session, epoch, turn, attempt, append };
}

/**
 * Returns the session and the producer row of an admission. Throws unless the current driver gave the
 * admission.
 */
function admitted(
  { sessions }: ReferenceStore,
  { session, driverEpoch, producer }: Admission,
  epoch?: number,
): readonly [ReferenceSession, ProducerState] {
  const found = sessions.get(session);
  const row = found?.producers.get(producer);
  const isDriven = found?.lease?.epoch === driverEpoch && row?.driverEpoch === driverEpoch;
  if (!isDriven || (epoch ?? row.epoch) !== row.epoch) throw refusal('fenced');
  return [found, row];
}
