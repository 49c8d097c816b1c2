import { LogError } from '../contract/log-error.ts';
import type { Admission, AdmitOptions } from '../contract/producer.ts';
import type { ProducerRow, SessionRow } from '../shelf/rows.ts';

/** The producer that a driver lets in; its name says for what. */
export function admitted({ session, epoch }: SessionRow, options: AdmitOptions): ProducerRow {
  const isRequest = options.for === 'request';
  const producer = isRequest
    ? `request ${options.turn}`
    : `call ${options.turn}.${options.attempt} ${options.toolCallId}`;
  const attempt = isRequest ? 0 : options.attempt;
  const none = { epoch: 0, sequence: 0, through: 0 };
  return { session, producer, driverEpoch: epoch, turn: options.turn, attempt, isRequest, ...none };
}

/** The producer opened once more: a new epoch and, for a request, the next attempt. */
export function opened(row: ProducerRow): ProducerRow {
  const attempt = row.isRequest ? row.attempt + 1 : row.attempt;
  return { ...row, epoch: row.epoch + 1, attempt, sequence: 0 };
}

/** Throws `fenced` unless the admission is the present driver's. */
export function assertAdmitted(
  session: SessionRow | undefined,
  row: ProducerRow | undefined,
  admission: Admission,
  epoch?: number,
): asserts row is ProducerRow {
  const isDriven = session?.lease !== undefined && session.epoch === admission.driverEpoch;
  const isKnown = row !== undefined && row.driverEpoch === admission.driverEpoch;
  const isLatest = epoch === undefined || row?.epoch === epoch;
  if (isDriven && isKnown && isLatest && !session.isClosed) return;
  const { producer, session: id } = admission;
  const why =
    isDriven && isKnown
      ? `it was opened again, epoch ${row.epoch}`
      : 'its driver does not drive any more';
  const message = `Cannot write to session ${id} as ${producer}: ${why}. Nothing was stored`;
  throw new LogError('fenced', message, { session: id, producer, epoch: row?.epoch, own: epoch });
}

/** Is this sequence the next one? False where it is the last one again. Throws for any other. */
export function isNext(row: ProducerRow, sequence: number): boolean {
  if (sequence === row.sequence + 1) return true;
  if (Number.isInteger(sequence) && sequence >= 1 && sequence <= row.sequence) return false;
  const message = `Cannot append sequence ${sequence} as ${row.producer}: the next one is ${row.sequence + 1}`;
  throw new LogError('bad_sequence', message, {
    session: row.session,
    sequence,
    next: row.sequence + 1,
  });
}
