import type { Batch, LogRecord, SessionId } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionInfo } from '../contract/session-info.ts';

/** What the session has up to where it ends now, page by page. */
export async function* readPages(
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
export async function requireSessionInfo(log: Log, session: SessionId): Promise<SessionInfo> {
  const info = await log.info(session);
  if (info !== undefined) return info;
  throw new LogError('no_session', `Cannot read session ${session}: there is none`, { session });
}

interface StoredSession {
  readonly info: SessionInfo;
  readonly records: readonly LogRecord[];
}

/** All that there is of a session now, or a little more. */
export async function readWholeSession(log: Log, session: SessionId): Promise<StoredSession> {
  const info = await requireSessionInfo(log, session);
  const pages: (readonly LogRecord[])[] = [];
  let cursor = 0;
  while (cursor < info.through) {
    // At once, where the store can: so nothing is rewritten in between.
    const page = await log.read(session, { from: cursor, maxBytes: Number.POSITIVE_INFINITY });
    if (page.through <= cursor) break;
    pages.push(page.records);
    cursor = page.through;
  }
  return { info, records: pages.flat() };
}
