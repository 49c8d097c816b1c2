import { sessionId } from '@millrace/core';
import type { Redis } from 'ioredis';
import { reasonOf } from './bus-diagnostic.ts';
import type { BusKeys } from './bus-keys.ts';

/** All that a bus asks for, as an ACL names it. */
export const busCommands: string = 'XADD, PEXPIRE, SET, XREVRANGE and XREAD';

/** One that Redis does not do for this user, and the word that it has for it. */
export interface RefusedCommand {
  readonly command: string;
  readonly reason: string;
}

/**
 * Asks Redis for all that a bus does there, so that nothing comes of it: of keys that nobody has, and
 * only if somebody had. What it refuses first, if anything.
 */
export async function refusedCommand(
  client: Redis,
  keys: BusKeys,
): Promise<RefusedCommand | undefined> {
  const stream = keys.stream(sessionId(keys.origin));
  const asked = [
    ['XADD', stream, 'NOMKSTREAM', 'MAXLEN', '=', 1, '*', 'try', ''],
    ['XADD', keys.wake, 'NOMKSTREAM', 'MAXLEN', '=', 1, '*', 'try', ''],
    ['PEXPIRE', stream, 1],
    ['SET', keys.mark, '', 'PX', 1, 'XX'],
    ['XREVRANGE', stream, '+', '-', 'COUNT', 1],
    ['XREAD', 'COUNT', 1, 'STREAMS', keys.wake, stream, '0-0', '0-0'],
  ] as const;
  const pipeline = client.pipeline();
  for (const [command, ...args] of asked) pipeline.call(command, ...args);
  const replies = (await pipeline.exec()) ?? [];
  for (const [index, [command]] of asked.entries()) {
    const [error] = replies[index] ?? [new Error('cut')];
    if (error === null) continue;
    // It was not asked: the connection is gone.
    if (error.name !== 'ReplyError') throw error;
    if (isRefusal(error)) return { command, reason: reasonOf(error) };
  }
  return undefined;
}

/** Before 6.2 Redis knows no NOMKSTREAM, and says so only to those who may write. */
function isRefusal({ message }: Error): boolean {
  return !message.startsWith('ERR ') || message.startsWith('ERR unknown command');
}
