import type { Batch, SessionId } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionInfo } from '../contract/session-info.ts';

/** What the session has up to where it ends now, page by page. */
export async function* pages(
  log: Log,
  { session, through }: Pick<SessionInfo, 'session' | 'through'>,
): AsyncGenerator<Batch> {
  let cursor = 0;
  while (cursor < through) {
    const page = await log.read(session, { from: cursor });
    if (page.through <= cursor) return;
    cursor = page.through;
    yield page;
  }
}

/** Throws `no_session` where there is none. */
export async function knownSession(log: Log, session: SessionId): Promise<SessionInfo> {
  const info = await log.info(session);
  if (info !== undefined) return info;
  throw new LogError('no_session', `Cannot read session ${session}: there is none`, { session });
}
