import type { Batch, LogRecord, SessionId } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionInfo } from '../contract/session-info.ts';

/** Reads the session page by page, from the record after `after` up to `through`. */
export async function* readPages(
  log: Log,
  { session, through }: Pick<SessionInfo, 'session' | 'through'>,
  after = 0,
): AsyncGenerator<Batch> {
  let cursor = after;
  while (cursor < through) {
    const page = await log.read(session, { from: cursor });
    if (page.through <= cursor) return;
    cursor = page.through;
    yield page;
  }
}

/** Returns the session's info. Throws `no_session` if the session does not exist. */
export async function requireSessionInfo(log: Log, session: SessionId): Promise<SessionInfo> {
  const info = await log.info(session);
  if (info !== undefined) return info;
  throw new LogError('no_session', `Cannot read session ${session}: it does not exist`, {
    session,
  });
}

interface StoredSession {
  readonly info: SessionInfo;
  readonly records: readonly LogRecord[];
}

/** Reads all records of a session. Records that arrive during the read may be included. */
export async function readWholeSession(log: Log, session: SessionId): Promise<StoredSession> {
  const info = await requireSessionInfo(log, session);
  const pages: (readonly LogRecord[])[] = [];
  let cursor = 0;
  while (cursor < info.through) {
    // Asks for one page without a size limit, so that no rewrite can happen between two pages. A store may
    // still return less.
    const page = await log.read(session, { from: cursor, maxBytes: Number.POSITIVE_INFINITY });
    if (page.through <= cursor) break;
    pages.push(page.records);
    cursor = page.through;
  }
  return { info, records: pages.flat() };
}

/** Returns the error for records that cannot be folded. */
export function unfoldableError(session: SessionId, offset: number): LogError {
  const message = `Cannot fold session ${session} after offset ${offset}: the records are inconsistent. Restore a backup`;
  return new LogError('corrupt', message, { session, offset });
}
