import { hash as digest } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ErrorPlace, SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import type { CommandRow, ProducerRow, SessionRow } from '../storage/rows.ts';
import * as sessionRow from '../storage/session-row.ts';

/**
 * Returns the checksum of a row. SQLite detects a damaged page structure, but not a changed character. For
 * this reason, each row is checked before it is used.
 */
function rowChecksum(fields: readonly unknown[]): number {
  return crc32(JSON.stringify(fields)) | 0;
}

/** Returns the checksum of a row with a long text, without first encoding the text as JSON. */
export function textChecksum(text: string, fields: readonly unknown[]): number {
  return crc32(text, crc32(JSON.stringify(fields))) | 0;
}

/** Returns the error for a damaged row. */
export function corruptRow(
  what: string,
  place: ErrorPlace,
  why = 'its checksum does not match',
): LogError {
  const where = Object.entries(place).map(([name, value]) => `${name} ${value}`);
  const message = `Cannot read ${what} (${where.join(', ')}): ${why}. The file is damaged; restore a backup`;
  return new LogError('corrupt', message, place);
}

/** The SQLite columns of a session. SQLite has no booleans, and each row has a checksum. */
export type SqliteSessionColumns = Omit<sessionRow.SessionColumns, 'is_closed'> & {
  /** The number of the session's row in this file. */
  readonly key: number;
  readonly is_closed: number;
  readonly sum: number;
  /** The incarnation of the store. It is not a column of the session's table. */
  readonly incarnation: number;
};

export function toSqliteColumns(
  row: SessionRow,
): Omit<SqliteSessionColumns, 'key' | 'incarnation'> {
  const fields = { ...sessionRow.toColumns(row), is_closed: Number(row.isClosed) };
  return { ...fields, sum: sessionChecksum(fields) };
}

/** Converts columns to a session row. Throws `corrupt` if the checksum does not match. */
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
  const { epoch, lease, open_work, queued_commands, origin, chain = null } = fields;
  const values: unknown[] = [id, made, rewrites, through, created_at, changed_at, is_closed];
  values.push(epoch, lease, open_work, queued_commands, origin);
  // A row without a chain has the same checksum as in version 2 of the tables.
  if (chain !== null) values.push(chain);
  return rowChecksum(values);
}

/**
 * Returns whether the two rows differ only in the last offset, the time of the last change, the lease, and the
 * end of the chain.
 */
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

/**
 * Converts columns to a producer row. Throws `corrupt` if the checksum does not match. The next functions
 * do the same for other rows.
 */
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

/**
 * Returns the checksum of one piece of a blob. Each piece has its own checksum, because a slice is read
 * without the other pieces.
 */
export function pieceChecksum(hash: string, piece: number, bytes: Uint8Array): number {
  return crc32(bytes, crc32(`${hash} ${piece}`)) | 0;
}

/** Returns the bytes of a whole blob. Throws `corrupt` if their hash differs from the blob's id. */
export function checkedBlob(bytes: unknown, hash: string): Uint8Array {
  if (bytes instanceof Uint8Array && digest('sha256', bytes) === hash) return bytes;
  throw corruptRow('a blob', { hash });
}
