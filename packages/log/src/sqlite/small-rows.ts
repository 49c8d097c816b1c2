import { hash as digest } from 'node:crypto';
import type { SessionId } from '@millrace/core';
import type { CommandRow, ProducerRow } from '../shelf/rows.ts';
import { corruptRow, rowSum } from './row-sum.ts';

type Row = Readonly<Record<string, unknown>>;

export function toProducerFields(row: ProducerRow): {
  readonly state: string;
  readonly sum: number;
} {
  const state = JSON.stringify(row);
  return { state, sum: rowSum([row.producer, state]) };
}

/** Throws `corrupt` where it is not what was written, as do the others. */
export function producerOf({ state, sum }: Row, session: SessionId, producer: string): ProducerRow {
  if (sum !== rowSum([producer, state])) throw corruptRow('a producer', { session, producer });
  return JSON.parse(String(state)) as ProducerRow;
}

export function commandSum(key: string, { offset, isConsumed }: CommandRow): number {
  return rowSum([key, offset, isConsumed]);
}

export function commandOf(row: Row, session: SessionId, key: string): CommandRow {
  const command = { offset: Number(row['offset']), isConsumed: row['is_consumed'] === 1 };
  if (row['sum'] === commandSum(key, command)) return command;
  throw corruptRow('a command', { session });
}

/** A blob is its own sum. */
export function blobOf({ bytes }: Row, hash: string): Uint8Array {
  if (bytes instanceof Uint8Array && digest('sha256', bytes) === hash) return bytes;
  throw corruptRow('a blob', { hash });
}
