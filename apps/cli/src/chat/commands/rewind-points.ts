import { type ItemId, type SessionId, toArray } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { readRecords } from '../../store/session-records.ts';

/** A message to which the user can go back. */
export interface RewindPoint {
  /** The offset of the last record before the message. */
  readonly through: number;
  /** The time of the message, in milliseconds since 1970. */
  readonly time: number;
  readonly text: string;
}

/**
 * Returns the messages of a session to which the user can go back, the first one first. Messages that were
 * sent during a run belong to the message that started the run.
 */
export async function rewindPoints(log: Log, session: SessionId): Promise<readonly RewindPoint[]> {
  const starts: { readonly through: number; readonly time: number; readonly itemId: ItemId }[] = [];
  let idleThrough = 0;
  for await (const { offset, time, fact } of readRecords(log, session)) {
    if (fact?.type === 'run_finished') idleThrough = offset;
    if (fact?.type !== 'item_started' || fact.kind !== 'user') continue;
    if (starts.at(-1)?.through !== idleThrough)
      starts.push({ through: idleThrough, time, itemId: fact.itemId });
  }
  if (starts.length === 0) return [];
  const { items } = await snapshot(log, session);
  const textById = new Map(
    toArray(items).map(({ id, parts }) => [
      id,
      parts.flatMap(({ part }) => (part?.kind === 'text' ? part.text : [])).join('\n'),
    ]),
  );
  return starts.map(({ through, time, itemId }) => ({
    ...{ through, time, text: textById.get(itemId) ?? '' },
  }));
}
