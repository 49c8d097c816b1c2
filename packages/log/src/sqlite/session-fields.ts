import type { SessionId } from '@millrace/core';
import type { LeaseRow, Origin, SessionRow } from '../shelf/rows.ts';
import { corruptRow, rowSum } from './row-sum.ts';

/** A session as the table has it. */
export type SessionFields = {
  /** Its number in this file. */
  readonly key: number;
  readonly id: string;
  readonly made: number;
  readonly rewrites: number;
  readonly through: number;
  readonly created_at: number;
  readonly changed_at: number;
  readonly is_closed: number;
  readonly epoch: number;
  readonly lease: string | null;
  readonly open_work: string;
  readonly queued_commands: number;
  readonly origin: string | null;
  readonly sum: number;
};

export function toFields(row: SessionRow): Omit<SessionFields, 'key'> {
  const { lease, origin } = row;
  const fields = {
    id: row.session,
    made: row.made,
    rewrites: row.rewrites,
    through: row.through,
    created_at: row.createdAt,
    changed_at: row.changedAt,
    is_closed: Number(row.isClosed),
    epoch: row.epoch,
    lease:
      lease === undefined ? null : JSON.stringify({ ...lease, expiresAt: String(lease.expiresAt) }),
    open_work: JSON.stringify(row.openWork),
    queued_commands: row.queuedCommands,
    origin: origin === undefined ? null : JSON.stringify(origin),
  };
  return { ...fields, sum: sumOf(fields) };
}

/** Throws `corrupt` where it is not what was written. */
export function sessionOf(fields: SessionFields): SessionRow {
  if (fields.sum !== sumOf(fields)) throw corruptRow('a session', { session: String(fields.id) });
  return {
    session: fields.id as SessionId,
    made: fields.made,
    rewrites: fields.rewrites,
    through: fields.through,
    createdAt: fields.created_at,
    changedAt: fields.changed_at,
    isClosed: fields.is_closed === 1,
    epoch: fields.epoch,
    lease: fields.lease === null ? undefined : leaseOf(fields.lease),
    openWork: JSON.parse(fields.open_work) as readonly string[],
    queuedCommands: fields.queued_commands,
    origin: fields.origin === null ? undefined : (JSON.parse(fields.origin) as Origin),
  };
}

/** A lease without end is `Infinity`, which JSON has no word for. */
function leaseOf(text: string): LeaseRow {
  const { expiresAt, ...lease } = JSON.parse(text) as LeaseRow;
  return { ...lease, expiresAt: Number(expiresAt) };
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
