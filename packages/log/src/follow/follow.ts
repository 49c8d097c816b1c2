import type { Batch, SessionId } from '@millrace/core';
import type { FollowOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { isIdle } from '../rules/open-work.ts';
import type { Feed } from './feed.ts';

/** Catches up from the cursor, then goes on with what comes, until it is told to end. */
export async function* follow(
  feed: Feed,
  { from = 0, until, signal, maxLag = Number.POSITIVE_INFINITY }: FollowOptions,
  isLogClosed: () => boolean,
): AsyncGenerator<Batch> {
  let cursor = from;
  let hadCaughtUp = false;
  while (!signal?.aborted && !isLogClosed()) {
    const batch = feed.after(cursor);
    const lag = feed.row.through - cursor;
    if (hadCaughtUp && lag > maxLag) throw lagged(feed.row.session, cursor, lag);
    if (batch !== undefined) {
      cursor = batch.through;
      yield batch;
      continue;
    }
    hadCaughtUp = true;
    const isOver = feed.row.isClosed || (until === 'idle' && isIdle(feed.row));
    if (until !== undefined && isOver) return;
    await feed.changed(signal);
  }
}

function lagged(session: SessionId, cursor: number, lag: number): LogError {
  const message = `Cannot follow session ${session} any longer: its reader is ${lag} records behind offset ${cursor}. Follow again from there`;
  return new LogError('lagged', message, { session, cursor, lag });
}
