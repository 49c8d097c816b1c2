import { setTimeout } from 'node:timers/promises';
import { sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Order, ReaderOrder } from './orders.ts';
import { Randomness } from './randomness.ts';
import { say, sayHeard } from './teller.ts';

/** Follows a session from somewhere to its end; a slow one stalls now and then. */
export async function read(log: Log, order: Order & ReaderOrder): Promise<void> {
  const { session, from, atLeast, isSlow, seed } = order;
  const random = new Randomness(seed);
  say({ type: 'asked', session, from, atLeast });
  say({ type: 'ready' });
  for await (const batch of log.follow(sessionId(session), { from, until: 'closed' })) {
    sayHeard({ session }, batch);
    if (isSlow && random.oneIn(3)) await setTimeout(random.below(60));
  }
  say({ type: 'ended', session });
}
