import type { SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Clock } from '@millrace/providers';
import type { Journal } from '../journal/journal.ts';
import { wait } from './wait.ts';

export interface Listening {
  readonly log: Log;
  readonly session: SessionId;
  readonly journal: Journal;
  readonly clock: Clock;
  /** Aborts when nobody has to listen any more. */
  readonly over: AbortSignal;
}

/** So long nothing was written here: then what others write has to be listened for. */
const silenceMs = 100;

/**
 * Fetches what others write to a session while its driver writes nothing. While it does, their records
 * come with the answers to its own.
 */
export async function listen({ log, session, journal, clock, over }: Listening): Promise<void> {
  while (!over.aborted) {
    const before = journal.state.through;
    await wait(clock, silenceMs, over);
    if (over.aborted || journal.state.through !== before) continue;
    const heard = log.follow(session, { from: before, signal: over })[Symbol.asyncIterator]();
    const { done } = await heard.next();
    await heard.return?.();
    if (!done && journal.state.through === before) await journal.write([]);
  }
}
