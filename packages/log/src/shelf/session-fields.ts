import type { SessionId } from '@millrace/core';
import type { LeaseRow, Origin, SessionRow } from './rows.ts';

/** A session as tables have it. */
export interface SessionFields {
  readonly id: string;
  readonly made: number;
  readonly rewrites: number;
  readonly through: number;
  readonly created_at: number;
  readonly changed_at: number;
  readonly is_closed: boolean;
  readonly epoch: number;
  readonly lease: string | null;
  readonly open_work: string;
  readonly queued_commands: number;
  readonly origin: string | null;
}

export function toFields(row: SessionRow): SessionFields {
  const { lease, origin } = row;
  return {
    id: row.session,
    made: row.made,
    rewrites: row.rewrites,
    through: row.through,
    created_at: row.createdAt,
    changed_at: row.changedAt,
    is_closed: row.isClosed,
    epoch: row.epoch,
    lease:
      lease === undefined ? null : JSON.stringify({ ...lease, expiresAt: String(lease.expiresAt) }),
    open_work: JSON.stringify(row.openWork),
    queued_commands: row.queuedCommands,
    origin: origin === undefined ? null : JSON.stringify(origin),
  };
}

export function sessionOf(fields: SessionFields): SessionRow {
  return {
    session: fields.id as SessionId,
    made: fields.made,
    rewrites: fields.rewrites,
    through: fields.through,
    createdAt: fields.created_at,
    changedAt: fields.changed_at,
    isClosed: fields.is_closed,
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
