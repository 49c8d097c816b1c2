import { hash as digest } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ErrorPlace, SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import type { CommandRow, ProducerRow, SessionRow } from '../storage/rows.ts';
import * as sessionRow from '../storage/session-row.ts';

/**
 * Checksum of a row. SQLite detects damaged page structures but not a changed character, so each
 * row is checked before use.
 */
function rowChecksum(fields: readonly unknown[]): number {
  return crc32(JSON.stringify(fields)) | 0;
}

/** Checksum of a row with a long text, without encoding the text again. */
export function textChecksum(text: string, fields: readonly unknown[]): number {
  return crc32(text, crc32(JSON.stringify(fields))) | 0;
}

/** The error for a damaged row. */
export function corruptRow(
  what: string,
  place: ErrorPlace,
  why = 'its checksum does not match',
): LogError {
  const where = Object.entries(place).map(([name, value]) => `${name} ${value}`);
  const message = `Cannot read ${what} (${where.join(', ')}): ${why}. The file is damaged; restore a backup`;
  return new LogError('corrupt', message, place);
}

/** A session as SQLite columns. SQLite has no booleans, and each row has a checksum. */
export type SqliteSessionColumns = Omit<sessionRow.SessionColumns, 'is_closed'> & {
  /** The session's number in this file. */
  readonly key: number;
  readonly is_closed: number;
  readonly sum: number;
  /** The incarnation of the store, which is not a column of the session. */
  readonly incarnation: number;
};

export function toSqliteColumns(
  row: SessionRow,
): Omit<SqliteSessionColumns, 'key' | 'incarnation'> {
  const fields = { ...sessionRow.toColumns(row), is_closed: Number(row.isClosed) };
  return { ...fields, sum: sessionChecksum(fields) };
}

/** Throws `corrupt` if the checksum does not match. */
export function fromSqliteColumns(fields: SqliteSessionColumns): SessionRow {
  if (fields.sum !== sessionChecksum(fields))
    throw corruptRow('a session', { session: String(fields.id) });
  return sessionRow.fromColumns(
    { ...fields, is_closed: fields.is_closed === 1 },
    fields.incarnation,
  );
}

function sessionChecksum(
  fields: Omit<SqliteSessionColumns, 'key' | 'sum' | 'incarnation'>,
): number {
  const { id, made, rewrites, through, created_at, changed_at, is_closed } = fields;
  const { epoch, lease, open_work, queued_commands, origin } = fields;
  const values = [id, made, rewrites, through, created_at, changed_at, is_closed];
  return rowChecksum([...values, epoch, lease, open_work, queued_commands, origin]);
}

/** True if only the length, the time of change and the lease differ. */
export function hasOnlyGrown(before: SessionRow, after: SessionRow): boolean {
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

export function toProducerColumns(row: ProducerRow): {
  readonly state: string;
  readonly sum: number;
} {
  const state = JSON.stringify(row);
  return { state, sum: rowChecksum([row.producer, state]) };
}

/** Throws `corrupt` if the checksum does not match. The next functions do the same. */
export function checkedProducer(
  { state, sum }: Row,
  session: SessionId,
  producer: string,
): ProducerRow {
  if (sum !== rowChecksum([producer, state])) throw corruptRow('a producer', { session, producer });
  return JSON.parse(String(state)) as ProducerRow;
}

export function commandChecksum(key: string, { offset, isConsumed }: CommandRow): number {
  return rowChecksum([key, offset, isConsumed]);
}

export function checkedCommand(row: Row, session: SessionId, key: string): CommandRow {
  const command = { offset: Number(row['offset']), isConsumed: row['is_consumed'] === 1 };
  if (row['sum'] === commandChecksum(key, command)) return command;
  throw corruptRow('a command', { session });
}

/** A slice of a blob is read without the rest, so each piece has a checksum. */
export function pieceChecksum(hash: string, piece: number, bytes: Uint8Array): number {
  return crc32(bytes, crc32(`${hash} ${piece}`)) | 0;
}

/** A whole blob needs no separate checksum: its hash is its id. */
export function checkedBlob(bytes: unknown, hash: string): Uint8Array {
  if (bytes instanceof Uint8Array && digest('sha256', bytes) === hash) return bytes;
  throw corruptRow('a blob', { hash });
}
