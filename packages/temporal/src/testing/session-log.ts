import { setImmediate as turn } from 'node:timers/promises';
import { type LogRecord, type SessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';

/** Resolves with the records of the session when `matches` returns true for them. */
export async function waitForRecords(
  log: Log,
  session: SessionId,
  matches: (records: readonly LogRecord[]) => boolean,
): Promise<readonly LogRecord[]> {
  while ((await log.info(session)) === undefined) await turn();
  const records: LogRecord[] = [];
  for await (const batch of log.follow(session)) {
    records.push(...batch.records);
    if (matches(records)) break;
  }
  return records;
}

export const hasText =
  (text: string) =>
  (records: readonly LogRecord[]): boolean =>
    streamedText(records).includes(text);

export const hasFact =
  (type: string) =>
  (records: readonly LogRecord[]): boolean =>
    records.some(({ fact }) => fact?.type === type);

/** Returns all streamed text, including that of superseded attempts. */
function streamedText(records: readonly LogRecord[]): string {
  return records.map(({ delta }) => (delta?.type === 'append_text' ? delta.chunk : '')).join('');
}

/** Returns the texts of a session's final transcript. */
export async function textsOf(log: Log, session: SessionId): Promise<readonly string[]> {
  return transcript(await snapshot(log, session)).flatMap(({ parts }) =>
    parts.flatMap((part) => ('text' in part ? [part.text] : [])),
  );
}
