import { setTimeout } from 'node:timers/promises';
import { type DraftRecord, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Command, Order, SubmitterOrder } from './orders.ts';
import { Randomness } from './randomness.ts';
import { say, sayTried } from './teller.ts';

/** Sends commands to sessions, and now and then one that was sent before, by itself or by another. */
export async function submit(log: Log, order: Order & SubmitterOrder): Promise<void> {
  const random = new Randomness(order.seed);
  const sent: Command[] = [];
  let count = 0;
  say({ type: 'ready' });
  const waiting = [...order.unanswered];
  for (;;) {
    const session = random.oneOf(order.sessions) ?? '';
    const fresh = { session, key: `${order.name} ${++count}` };
    const command = waiting.shift() ?? (random.oneIn(4) ? random.oneOf(sent) : undefined) ?? fresh;
    await send(log, command);
    sent.push(command);
    await setTimeout(random.below(10));
  }
}

async function send(log: Log, { session, key }: Command): Promise<void> {
  const command = { type: 'message', text: `from ${key}` };
  const draft: DraftRecord = {
    turn: 0,
    attempt: 0,
    fact: { type: 'command_queued', key, command },
  };
  const append = commandName({ session, key });
  sayTried(append, session, [draft]);
  const { offset } = await log.submit(sessionId(session), command, key);
  say({ type: 'stored', append, through: offset });
}

/** Whoever sends it: a command is the same for the same key. */
const commandName = ({ session, key }: Command): string =>
  `command ${JSON.stringify([session, key])}`;

export function commandOf(append: string): Command | undefined {
  if (!append.startsWith('command ')) return undefined;
  const [session, key] = JSON.parse(append.slice('command '.length)) as readonly [string, string];
  return { session, key };
}
