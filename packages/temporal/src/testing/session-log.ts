import { setImmediate as turn } from 'node:timers/promises';
import { type LogRecord, type SessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';

/** When the log has what is looked for. */
export async function until(
  log: Log,
  session: SessionId,
  isThere: (records: readonly LogRecord[]) => boolean,
): Promise<readonly LogRecord[]> {
  while ((await log.info(session)) === undefined) await turn();
  const records: LogRecord[] = [];
  for await (const batch of log.follow(session)) {
    records.push(...batch.records);
    if (isThere(records)) break;
  }
  return records;
}

export const saying =
  (text: string) =>
  (records: readonly LogRecord[]): boolean =>
    saidIn(records).includes(text);

export const having =
  (type: string) =>
  (records: readonly LogRecord[]): boolean =>
    records.some(({ fact }) => fact?.type === type);

/** All that was streamed, superseded or not. */
function saidIn(records: readonly LogRecord[]): string {
  return records.map(({ delta }) => (delta?.type === 'append_text' ? delta.chunk : '')).join('');
}

/** The texts of a session, as they are at last. */
export async function textsOf(log: Log, session: SessionId): Promise<readonly string[]> {
  return transcript(await snapshot(log, session)).flatMap(({ parts }) =>
    parts.flatMap((part) => ('text' in part ? [part.text] : [])),
  );
}
