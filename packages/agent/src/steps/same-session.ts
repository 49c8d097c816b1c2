import type { SessionId } from '@millrace/core';
import { type Log, LogError } from '@millrace/log';

/**
 * Throws `no_session` where the one that was made then is not there any more: whoever went on would
 * find an empty one in its place, or another that has its name.
 */
export async function assertSame(
  log: Log,
  session: SessionId,
  createdAt: number | undefined,
): Promise<void> {
  if (createdAt === undefined) return;
  const info = await log.info(session);
  if (info?.createdAt === createdAt) return;
  const now = info === undefined ? 'it was deleted' : 'it was deleted, and another has its name';
  throw new LogError('no_session', `Cannot go on with session ${session}: ${now}`, { session });
}
