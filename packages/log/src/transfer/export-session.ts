import { encodeRecord, type LogRecord, sessionId } from '@millrace/core';
import { readWholeSession } from '../any-log/read-session.ts';
import { linksOf } from '../chain/rewrite-chain.ts';
import { linkHash } from '../chain/seal.ts';
import type { Log } from '../contract/log.ts';
import type { SessionInfo } from '../contract/session-info.ts';
import { indexAfter } from '../storage/record-list.ts';
import { encodeHeader, type Hole } from './session-header.ts';

/**
 * Exports a session as JSON lines without line breaks. The first line is a header, and each other line is a
 * record. Use `exportBlobs` to export the session's blobs.
 *
 * @example for await (const line of exportSession(log, session)) file.write(`${line}\n`);
 */
export async function* exportSession(log: Log, session: string): AsyncGenerator<string> {
  const { info, records } = await readWholeSession(log, sessionId(session));
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
  // After the info was read, a writer may have added records, or a rewrite may have removed the last record.
  const through = Math.max(info.through, next - 1);
  if (through >= next) holes.push([next, through]);
  return encodeHeader({ ...info, through, holes, chain: chainOf(info, records) });
}

/**
 * Returns the end of the chain that the records have. After the info was read, a writer may have added links.
 */
function chainOf({ chain }: SessionInfo, records: readonly LogRecord[]): SessionInfo['chain'] {
  const last = linksOf(records).at(-1)?.link;
  if (chain === undefined || last === undefined) return chain;
  const [first, end] = [last.ranges[0]?.[0] ?? 0, last.ranges.at(-1)?.[1] ?? 0];
  const own = records.slice(indexAfter(records, first - 1), indexAfter(records, end));
  return { ...chain, count: last.number, hash: linkHash(last, own) };
}

/**
 * Escapes U+2028 and U+2029, because some line readers also split lines at these characters. In JSON, they
 * occur only inside strings, where an escape is allowed.
 */
export function asLine(json: string): string {
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}
