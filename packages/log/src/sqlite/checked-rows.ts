import { hash as digest } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ErrorPlace, SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import type { CommandRow, ProducerRow, SessionRow } from '../storage/rows.ts';
import * as shelf from '../storage/session-row.ts';

/**
 * SQLite notices a page whose structure is damaged, but not a changed letter in it. So each row has a
 * sum of what it says, which is checked before any of it is believed.
 */
function rowSum(fields: readonly unknown[]): number {
  return crc32(JSON.stringify(fields)) | 0;
}

/** The same for a row with a long text, which need not be written out again. */
export function textSum(text: string, fields: readonly unknown[]): number {
  return crc32(text, crc32(JSON.stringify(fields))) | 0;
}

function corruptRow(what: string, place: ErrorPlace): LogError {
  const where = Object.entries(place).map(([name, value]) => `${name} ${value}`);
  const message = `Cannot read ${what} (${where.join(', ')}): it was changed. The file is damaged; restore a backup`;
  return new LogError('corrupt', message, place);
}

/** A session as the table has it: SQLite has no booleans, and each row has a sum. */
export type SessionFields = Omit<shelf.SessionFields, 'is_closed'> & {
  /** Its number in this file. */
  readonly key: number;
  readonly is_closed: number;
  readonly sum: number;
};

export function toFields(row: SessionRow): Omit<SessionFields, 'key'> {
  const fields = { ...shelf.toFields(row), is_closed: Number(row.isClosed) };
  return { ...fields, sum: sumOf(fields) };
}

/** Throws `corrupt` where it is not what was written. */
export function sessionOf(fields: SessionFields): SessionRow {
  if (fields.sum !== sumOf(fields)) throw corruptRow('a session', { session: String(fields.id) });
  return shelf.sessionOf({ ...fields, is_closed: fields.is_closed === 1 });
}

function sumOf(fields: Omit<SessionFields, 'key' | 'sum'>): number {
  const { id, made, rewrites, through, created_at, changed_at, is_closed } = fields;
  const { epoch, lease, open_work, queued_commands, origin } = fields;
  const said = [id, made, rewrites, through, created_at, changed_at, is_closed];
  return rowSum([...said, epoch, lease, open_work, queued_commands, origin]);
}

/** Do they differ in nothing but how long they are, when that was, and until when they are held? */
export function isOnlyGrown(before: SessionRow, after: SessionRow): boolean {
  return (
    before.made === after.made &&
    before.rewrites === after.rewrites &&
    before.epoch === after.epoch &&
    before.isClosed === after.isClosed &&
    before.openWork === after.openWork &&
    before.queuedCommands === after.queuedCommands &&
    before.createdAt === after.createdAt &&
    before.origin === after.origin
  );
}

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
