import { type Batch, type LogRecord, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionInfo } from '../contract/session-info.ts';

/**
 * Yields the records of a session in order. It reads page by page, so its memory does not depend on the
 * length of the session. Records that arrive during the read are included. Rejects with `no_session` if the
 * session does not exist.
 *
 * @example for await (const { offset, fact } of readRecords(log, session)) console.log(offset, fact?.type);
 */
export async function* readRecords(log: Log, session: string): AsyncGenerator<LogRecord> {
  for (let from = 0; ; ) {
    const { records, through } = await log.read(session, { from });
    yield* records;
    if (through <= from) return;
    from = through;
  }
}

/** Options of `readBackward`. */
export interface ReadBackwardOptions {
  /** The offset of the last record to read. Default: the last record of the session. */
  readonly through?: number | undefined;
  /**
   * Maximum number of records that are read. The search ends after them. Default: all records of the session.
   */
  readonly maxRecords?: number | undefined;
}

/** The number of records of the first range that `readBackward` yields. */
const firstRange = 256;
/** The maximum number of records of a range. It limits the memory for one range. */
const maxRange = 2 ** 14;

/**
 * Yields ranges of records, the newest range first. The records of a range are in order. Each range is four
 * times as long as the range before it. A caller that searches a recent record reads only a few records, even
 * if the session is long.
 *
 * @example
 * for await (const records of readBackward(log, session)) {
 *   const last = records.findLast(({ fact }) => fact?.type === 'run_started');
 *   if (last !== undefined) return last;
 * }
 */
export async function* readBackward(
  log: Log,
  session: string,
  { through, maxRecords = Number.POSITIVE_INFINITY }: ReadBackwardOptions = {},
): AsyncGenerator<readonly LogRecord[]> {
  const { through: last, incarnation } = await requireSessionInfo(log, sessionId(session));
  let end = Math.min(through ?? last, last);
  const first = Math.max(0, end - maxRecords);
  for (let length = firstRange; end > first; length = Math.min(4 * length, maxRange)) {
    const start = Math.max(first, end - length);
    const range: LogRecord[] = [];
    for (let from = start; from < end; ) {
      const page = await log.read(session, { from, incarnation, maxBytes: rangeBytes });
      for (const record of page.records) if (record.offset <= end) range.push(record);
      if (page.through <= from) break;
      from = page.through;
    }
    yield range;
    end = start;
  }
}

/** The size of one read for a range. A read may go beyond the range, so it is small. */
const rangeBytes = 2 ** 16;

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
    // Asks for all records in one page, so that no record can be rewritten between two pages. A store may
    // still return fewer records.
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
