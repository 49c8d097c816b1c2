import type { JsonObject, SessionId } from '@millrace/core';
import type { Submitted } from '../contract/log.ts';
import { closedError } from '../rules/lease.ts';
import { newSession } from '../rules/new-session.ts';
import { readableDrafts } from '../rules/readable-draft.ts';
import { addRecords } from './add-records.ts';
import type { Store } from './store.ts';

/** Leaves a command in a session, once for each key. */
export async function submit(
  { clock, commits, feeds }: Store,
  session: SessionId,
  command: JsonObject,
  key: string,
): Promise<Submitted> {
  const fact = { type: 'command_queued', key, command } as const;
  const drafts = readableDrafts([{ turn: 0, attempt: 0, fact }], session);
  const { offset, added } = await commits.run(
    (shelf) => {
      const known = shelf.command(session, key);
      if (known !== undefined) return { offset: known.offset, added: undefined };
      const now = clock.now();
      const row = shelf.session(session) ?? newSession(session, shelf.nextSession(), now);
      if (row.isClosed) throw closedError(row);
      const stored = addRecords(shelf, row, drafts, 'command', now);
      return { offset: stored.row.through, added: stored };
    },
    { tell: ({ added: stored }) => stored && feeds.push(stored.row, stored.records) },
  );
  return { offset, isRepeat: added === undefined };
}
