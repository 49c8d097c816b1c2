import { encodeRecord, type LogRecord, type SessionId } from '@millrace/core';
import { readWholeSession } from '../any-log/read-session.ts';
import type { Log } from '../contract/log.ts';
import type { SessionInfo } from '../contract/session-info.ts';
import { encodeHeader, type Hole } from './session-header.ts';

/**
 * A session as lines of JSON, without line breaks: a header, then one record a line. Its blobs are
 * lines of their own: `exportBlobs`.
 *
 * @example
 * for await (const line of exportSession(log, session)) file.write(`${line}\n`);
 */
export async function* exportSession(log: Log, session: SessionId): AsyncGenerator<string> {
  const { info, records } = await readWholeSession(log, session);
  yield asLine(headerOf(info, records));
  for (const record of records) yield asLine(encodeRecord(record));
}

function headerOf(info: SessionInfo, records: readonly LogRecord[]): string {
  const holes: Hole[] = [];
  let next = 1;
  for (const { offset } of records) {
    if (offset > next) holes.push([next, offset - 1]);
    next = offset + 1;
  }
  // More may have come since the session was looked at; its last may have been taken out.
  const through = Math.max(info.through, next - 1);
  if (through >= next) holes.push([next, through]);
  return encodeHeader({ ...info, through, holes });
}

/** Some who read lines end them at these as well. In JSON they are within texts alone. */
function asLine(json: string): string {
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}
