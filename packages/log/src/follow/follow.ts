import type { Batch, SessionId } from '@millrace/core';
import type { FollowOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { Clock } from '../local/clock.ts';
import { isIdle } from '../rules/open-work.ts';
import type { Feed } from './feed.ts';

interface Surroundings {
  readonly isClosed: () => boolean;
  readonly clock: Clock;
}

/** After so many batches that were there already, others in the process come to their turn. */
const batchesAtOnce = 8;

/** Catches up from the cursor, then goes on with what comes, until it is told to end. */
export async function* follow(
  feed: Feed,
  { from = 0, until, signal, maxLag = Number.POSITIVE_INFINITY }: FollowOptions,
  { isClosed, clock }: Surroundings,
): AsyncGenerator<Batch> {
  let cursor = from;
  let hadCaughtUp = false;
  /** Nobody who waits is late, however much comes at once. */
  let isWaiting = false;
  let atOnce = 0;
  while (!signal?.aborted && !isClosed()) {
    const batch = feed.after(cursor);
    const lag = feed.row.through - cursor;
    if (hadCaughtUp && !isWaiting && lag > maxLag) throw lagged(feed.row.session, cursor, lag);
    isWaiting = false;
    if (batch !== undefined) {
      cursor = batch.through;
      yield batch;
      if (++atOnce % batchesAtOnce === 0) await pause(clock, signal);
      continue;
    }
    hadCaughtUp = true;
    const isOver = feed.row.isClosed || (until === 'idle' && isIdle(feed.row));
    if (until !== undefined && isOver) return;
    await feed.changed(signal);
    isWaiting = true;
    atOnce = 0;
  }
}

/** For a moment, or until the reader leaves. */
function pause(clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(0, done);
    signal?.addEventListener('abort', done);
    if (signal?.aborted) done();
  });
}

function lagged(session: SessionId, cursor: number, lag: number): LogError {
  const message = `Cannot follow session ${session} any longer: its reader is ${lag} records behind offset ${cursor}. Follow again from there`;
  return new LogError('lagged', message, { session, cursor, lag });
}
