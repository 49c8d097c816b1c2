import type { LogRecord, SessionId } from '@millrace/core';
import { knownSession } from '../any-store/pages.ts';
import type { Log } from '../contract/log.ts';
import type { SessionInfo } from '../contract/session-info.ts';

export interface StoredSession {
  readonly info: SessionInfo;
  readonly records: readonly LogRecord[];
}

/** All that there is of a session now, or a little more. */
export async function storedSession(log: Log, session: SessionId): Promise<StoredSession> {
  const info = await knownSession(log, session);
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
