import type { SessionRow } from '../shelf/rows.ts';
import * as shelf from '../shelf/session-fields.ts';
import { corruptRow, rowSum } from './row-sum.ts';

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
