import type { DraftRecord, LogRecord, SessionId } from '@millrace/core';
import { provideChain } from '../chain/load-chain.ts';
import { createChainCode } from '../chain/seal.ts';
import { LogError } from '../contract/log-error.ts';
import type { Admission, AdmitOptions, AppendAck, Producer } from '../contract/producer.ts';
import type { StoreTransaction } from '../storage/record-store.ts';
import type { ProducerRow, SessionRow } from '../storage/rows.ts';
import { currentLease } from '../storage/session-row.ts';
import { addRecords } from './append-records.ts';
import { assertAdmission } from './check-rare-options.ts';
import type { LogContext } from './log-context.ts';
import { isStreamText, readableDrafts } from './readable-draft.ts';

/**
 * Opens an admission. If an earlier producer has opened the same admission, this fences that producer. For a
 * request, it also supersedes the attempt of that producer.
 */
export async function openProducer(context: LogContext, given: Admission): Promise<Producer> {
  assertAdmission(given);
  const admission = { ...given };
  const { producer } = await context.commits.run((tx) => openAdmission(context, tx, admission), {
    onCommitted: ({ added }) => added && context.feeds.push(added.row, added.records),
  });
  return new StoreProducer(context, admission, producer);
}

function openAdmission({ clock }: LogContext, tx: StoreTransaction, admission: Admission) {
  const { session, producer: name } = admission;
  const row = tx.session(session);
  const known = tx.producer(session, name);
  assertAdmitted(row, known, admission);
  if (row?.chain !== undefined) provideChain(createChainCode());
  const producer = reopenedProducer(known);
  tx.putProducer(producer);
  const { turn, attempt } = known;
  if (row === undefined || !known.isRequest || known.epoch === 0)
    return { producer, added: undefined };
  const fact = { type: 'attempt_superseded', reason: 'opened again' } as const;
  const added = addRecords(tx, row, [{ turn, attempt, fact }], 'store', clock.now());
  return { producer, added };
}

class StoreProducer implements Producer {
  readonly session: SessionId;
  readonly epoch: number;
  readonly turn: number;
  readonly attempt: number;
  readonly #context: LogContext;
  readonly #admission: Admission;

  constructor(context: LogContext, admission: Admission, { epoch, turn, attempt }: ProducerRow) {
    this.#context = context;
    this.#admission = admission;
    this.session = admission.session;
    this.epoch = epoch;
    this.turn = turn;
    this.attempt = attempt;
  }

  async append(drafts: readonly DraftRecord[], sequence: number): Promise<AppendAck> {
    const isOwn = ({ turn, attempt }: DraftRecord) =>
      turn === this.turn && attempt === this.attempt;
    const ready = readableDrafts(drafts, this.session);
    if (!ready.every(isOwn)) throw this.#foreignAttemptError();
    const { through, added } = await this.#context.commits.run(
      (tx) => this.#insert(tx, ready, sequence),
      {
        isStreamed: isStreamText(ready),
        session: this.session,
        onCommitted: ({ added: stored }) =>
          stored && this.#context.feeds.push(stored.row, stored.records),
      },
    );
    return { through, isRepeat: added === undefined };
  }

  #insert(tx: StoreTransaction, drafts: readonly DraftRecord[], sequence: number) {
    const { session } = this;
    const row = tx.session(session);
    const producer = tx.producer(session, this.#admission.producer);
    assertAdmitted(row, producer, this.#admission, this.epoch);
    if (row === undefined || !isNextSequence(producer, sequence))
      return { through: producer.through, added: undefined };
    const added = addRecords(tx, row, drafts, producer.producer, this.#context.clock.now());
    const { through } = added.row;
    tx.putProducer({ ...producer, sequence, through });
    return { through, added };
  }

  #foreignAttemptError(): LogError {
    const { turn, attempt, session } = this;
    const message = `Cannot append to session ${session}: this producer may only write turn ${turn}, attempt ${attempt}`;
    return new LogError('bad_records', message, { session, turn, attempt });
  }
}

/** Returns the producer row for an admission. The producer's name contains the turn and the call. */
export function admittedProducer(
  { session, epoch }: SessionRow,
  options: AdmitOptions,
): ProducerRow {
  const isRequest = options.for === 'request';
  const producer = isRequest
    ? `request ${options.turn}`
    : `call ${options.turn}.${options.attempt} ${options.toolCallId}`;
  const attempt = isRequest ? 0 : options.attempt;
  const none = { epoch: 0, sequence: 0, through: 0 };
  return { session, producer, driverEpoch: epoch, turn: options.turn, attempt, isRequest, ...none };
}

/**
 * Returns the producer row after the admission was opened again. It has a new epoch and, for a request, the
 * next attempt.
 */
function reopenedProducer(row: ProducerRow): ProducerRow {
  const attempt = row.isRequest ? row.attempt + 1 : row.attempt;
  return { ...row, epoch: row.epoch + 1, attempt, sequence: 0 };
}

/** Throws `fenced` unless the current driver gave the admission. */
function assertAdmitted(
  session: SessionRow | undefined,
  row: ProducerRow | undefined,
  admission: Admission,
  epoch?: number,
): asserts row is ProducerRow {
  const lease = session && currentLease(session);
  const isDriven = lease !== undefined && session?.epoch === admission.driverEpoch;
  const isKnown = row !== undefined && row.driverEpoch === admission.driverEpoch;
  const isLatest = epoch === undefined || row?.epoch === epoch;
  if (isDriven && isKnown && isLatest && !session?.isClosed) return;
  const { producer, session: id } = admission;
  const why =
    isDriven && isKnown
      ? `its admission was opened again, epoch ${row.epoch}`
      : 'its driver no longer drives the session';
  const message = `Cannot write to session ${id} as ${producer}: ${why}. Nothing was stored`;
  throw new LogError('fenced', message, { session: id, producer, epoch: row?.epoch, own: epoch });
}

/**
 * Returns true for the next sequence number, and false for a number that was stored before. Throws for any
 * other number.
 */
function isNextSequence(row: ProducerRow, sequence: number): boolean {
  if (sequence === row.sequence + 1) return true;
  if (Number.isInteger(sequence) && sequence >= 1 && sequence <= row.sequence) return false;
  const message = `Cannot append sequence ${sequence} as ${row.producer}: the next sequence is ${row.sequence + 1}`;
  throw new LogError('bad_sequence', message, {
    session: row.session,
    sequence,
    next: row.sequence + 1,
  });
}

/**
 * Collects the unfinished requests of a copied session. With their producer rows, the attempt numbers of the
 * copy continue after the numbers of the original session. An attempt number must never be used twice, because
 * part ids contain it.
 */
export class UnfinishedRequests {
  readonly #tried = new Map<number, { attempt: number; isSuperseded: boolean }>();

  /** Adds records in the order of their offsets. */
  add(records: readonly LogRecord[]): void {
    const tried = this.#tried;
    for (const { turn, attempt, fact } of records) {
      if (fact?.type === 'turn_finished') tried.delete(turn);
      else if (turn > 0 && attempt > 0) {
        const known = tried.get(turn);
        if (known === undefined || known.attempt < attempt)
          tried.set(turn, { attempt, isSuperseded: false });
        const last = tried.get(turn);
        if (last?.attempt === attempt && fact?.type === 'attempt_superseded')
          last.isSuperseded = true;
      }
    }
  }

  /** Returns the producers of the requests in a session. */
  rows(row: SessionRow): readonly ProducerRow[] {
    return [...this.#tried].map(([turn, { attempt, isSuperseded }]) => ({
      ...admittedProducer({ ...row, epoch: 0 }, { for: 'request', turn }),
      attempt,
      // With epoch 1, the next open supersedes this attempt. With epoch 0, the attempt is already superseded.
      epoch: isSuperseded ? 0 : 1,
    }));
  }
}
