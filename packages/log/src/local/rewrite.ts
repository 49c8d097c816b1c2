import type { ItemId, LogRecord, SessionId } from '@millrace/core';
import type { ForkOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { consumeQueued, isInside, isKept } from '../rewrite/fork.ts';
import { standingOf, withoutItem } from '../rewrite/redact.ts';
import { settled } from '../rewrite/settle.ts';
import { numberRecords } from '../rules/number-records.ts';
import { withWork } from '../rules/open-work.ts';
import type { SessionRow } from '../shelf/rows.ts';
import type { ShelfWriter } from '../shelf/shelf.ts';
import { putCopy } from './restore.ts';
import type { Store } from './store.ts';

/** What changes records that are there already, each in one transaction. */
export const rewrite = {
  settle(store: Store, { session }: SessionRow, turn: number): Promise<boolean> {
    return store.commits.run(
      (shelf) => {
        const found = settled(session, turn, allOf(store, shelf, session));
        if (found === undefined) return false;
        const blobs = shelf.blobsOf(session);
        shelf.replace(session, found.first, found.last, found.records);
        shelf.deleteUnusedBlobs(blobs);
        return true;
      },
      (hasChanged) => hasChanged && store.feeds.reset(session),
    );
  },

  async redact(
    store: Store,
    { session }: SessionRow,
    item: ItemId,
    reason?: string,
  ): Promise<void> {
    await store.commits.run(
      (shelf) => {
        const records = allOf(store, shelf, session);
        const row = shelf.session(session);
        const standing = standingOf(session, records, item);
        if (standing === 'unknown') throw unknown(session, item);
        if (standing === 'open') throw streaming(session, item);
        if (row === undefined) return;
        const blobs = shelf.blobsOf(session);
        const fact = {
          type: 'item_redacted',
          itemId: item,
          ...(reason === undefined ? {} : { reason }),
        } as const;
        // Nobody has what left with its attempt, and the fold would not know of what this speaks.
        const drafts = standing === 'superseded' ? [] : [{ turn: 0, attempt: 0, fact }];
        const numbered = numberRecords(row, drafts, 'store', store.clock.now());
        shelf.replace(session, 1, row.through, withoutItem(records, item));
        shelf.putSession(numbered.row);
        shelf.insert(session, numbered.records);
        shelf.deleteUnusedBlobs(blobs);
      },
      () => store.feeds.reset(session),
    );
  },

  fork(store: Store, { session, through }: SessionRow, options: ForkOptions): Promise<SessionRow> {
    const { into, through: at } = options;
    return store.commits.run((shelf) => {
      if (shelf.session(into) !== undefined) throw exists(into);
      if (!Number.isInteger(at) || at < 0 || at > through) throw outside(session, at, through);
      const all = allOf(store, shelf, session);
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
  const none = { openRuns: 0, openTurns: 0, queuedCommands: 0 };
  const empty = {
    session: into,
    through: origin.through,
    createdAt: now,
    changedAt: now,
    isClosed: false,
    epoch: 0,
    lease: undefined,
    ...none,
    origin,
  };
  const done = numberRecords(withWork(empty, records), consumeQueued(records), 'store', now);
  return putCopy(shelf, done.row, [...records, ...done.records]);
}

function allOf(store: Store, shelf: ShelfWriter, session: SessionId): readonly LogRecord[] {
  return store.recordsBetween(shelf, session, 0, shelf.session(session)?.through ?? 0);
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
