import type { ItemId, LogRecord, SessionId } from '@millrace/core';
import type { ForkOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { consumeQueued, isInside, isKept } from '../rewrite/fork.ts';
import { standingOf, withoutItem } from '../rewrite/redact.ts';
import { settled } from '../rewrite/settle.ts';
import { unknownSession } from '../rules/lease.ts';
import { newSession } from '../rules/new-session.ts';
import { numberRecords } from '../rules/number-records.ts';
import { readableDrafts } from '../rules/readable-draft.ts';
import type { SessionRow } from '../shelf/rows.ts';
import type { ShelfWriter } from '../shelf/shelf.ts';
import { addRecords } from './add-records.ts';
import { putCopy } from './restore.ts';
import type { Store } from './store.ts';

/** What changes records that are there already, each in one transaction. */
export const rewrite = {
  async settle(store: Store, session: SessionId, turn: number): Promise<boolean> {
    const told = await store.commits.run(
      (shelf) => {
        const row = known(shelf, session);
        const found = settled(session, turn, allOf(store, shelf, row));
        if (found === undefined) return undefined;
        const blobs = shelf.blobsOf(session);
        const settledRow = { ...row, rewrites: row.rewrites + 1 };
        shelf.replace(session, found.first, found.last, found.records);
        shelf.putSession(settledRow);
        shelf.deleteUnusedBlobs(blobs);
        return settledRow;
      },
      { tell: (changed) => changed && store.feeds.rewritten(changed) },
    );
    return told !== undefined;
  },

  async redact(store: Store, session: SessionId, item: ItemId, reason?: string): Promise<void> {
    const fact = {
      type: 'item_redacted',
      itemId: item,
      ...(reason === undefined ? {} : { reason }),
    } as const;
    const drafts = readableDrafts([{ turn: 0, attempt: 0, fact }], session);
    await store.commits.run(
      (shelf) => {
        const row = known(shelf, session);
        const records = allOf(store, shelf, row);
        const standing = standingOf(session, records, item);
        if (standing === 'unknown') throw unknown(session, item);
        if (standing === 'open') throw streaming(session, item);
        const blobs = shelf.blobsOf(session);
        shelf.replace(session, 1, row.through, withoutItem(records, item));
        // Nobody has what left with its attempt, and the fold would not know of what this speaks.
        const told = standing === 'superseded' ? [] : drafts;
        const rewritten = { ...row, rewrites: row.rewrites + 1 };
        const added = addRecords(shelf, rewritten, told, 'store', store.clock.now());
        shelf.deleteUnusedBlobs(blobs);
        return added.row;
      },
      { tell: (row) => store.feeds.rewritten(row) },
    );
  },

  fork(store: Store, session: SessionId, options: ForkOptions): Promise<SessionRow> {
    const { into, through: at } = options;
    return store.commits.run((shelf) => {
      const row = known(shelf, session);
      const { through } = row;
      if (shelf.session(into) !== undefined) throw exists(into);
      if (!Number.isInteger(at) || at < 0 || at > through) throw outside(session, at, through);
      const all = allOf(store, shelf, row);
      if (isInside(all, at)) throw inside(session, at);
      if (at < through && !isKept(all, at)) throw takenOut(session, at);
      const records = all.filter(({ offset }) => offset <= at);
      return copied(store, shelf, into, { session, through: at }, records);
    });
  },
};

function copied(
  store: Store,
  shelf: ShelfWriter,
  into: SessionId,
  origin: { readonly session: SessionId; readonly through: number },
  records: readonly LogRecord[],
): SessionRow {
  const now = store.clock.now();
  const { through } = origin;
  const empty = { ...newSession(into, shelf.nextSession(), now), origin, through };
  const done = numberRecords(empty, consumeQueued(records), 'store', now);
  const copy = { ...empty, through: through + done.length };
  return putCopy(shelf, copy, [...records, ...done]);
}

function allOf(store: Store, shelf: ShelfWriter, row: SessionRow): readonly LogRecord[] {
  return store.recordsBetween(shelf, row.session, 0, row.through);
}

/** As it is in the transaction: it may have been deleted since it was asked for. */
function known(shelf: ShelfWriter, session: SessionId): SessionRow {
  const row = shelf.session(session);
  if (row === undefined) throw unknownSession(session);
  return row;
}

function exists(session: SessionId): LogError {
  return new LogError(
    'session_exists',
    `Cannot fork into session ${session}: there is one. Choose another id`,
    { session },
  );
}

function outside(session: SessionId, offset: number, through: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: it has 0 to ${through}`;
  return new LogError('bad_offset', message, { session, offset, through });
}

function inside(session: SessionId, offset: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: the turn around it was settled. Fork at its end`;
  return new LogError('bad_offset', message, { session, offset });
}

function takenOut(session: SessionId, offset: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: its record was taken out. Fork at one that is there`;
  return new LogError('bad_offset', message, { session, offset });
}

function unknown(session: SessionId, item: ItemId): LogError {
  const message = `Cannot redact item ${item} of session ${session}: there is none`;
  return new LogError('bad_option', message, { session, item });
}

function streaming(session: SessionId, item: ItemId): LogError {
  const message = `Cannot redact item ${item} of session ${session}: it, or its turn, is not finished. Stop it first`;
  return new LogError('bad_records', message, { session, item });
}
