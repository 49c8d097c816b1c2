import {
  type CommitWhole,
  type ItemId,
  type PartSlot,
  type SessionId,
  toArray,
} from '@millrace/core';
import { type Log, readBackward, readRecords, snapshot } from '@millrace/log';
import { isModeNote } from '../../agent/session-mode.ts';

/** A message to which the user can go back. */
export interface RewindPoint {
  /** The offset of the last record before the message. */
  readonly through: number;
  /** The time of the message, in milliseconds since 1970. */
  readonly time: number;
  readonly text: string;
}

/**
 * Returns the messages to which the user can go back, oldest first. A message that was sent during
 * a run belongs to the message that started the run.
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
  const textById = new Map(toArray(items).map((item) => [item.id, messageText(item)]));
  return starts.map(({ through, time, itemId }) => ({
    ...{ through, time, text: textById.get(itemId) ?? '' },
  }));
}

/**
 * Returns the text of the last message of the user. It is empty if there is none, or if the message was redacted.
 * It reads the session backwards, because the message is usually near the end.
 */
export async function lastMessage(log: Log, session: SessionId): Promise<string> {
  const redacted = new Set<ItemId>();
  let parts: readonly CommitWhole[] = [];
  for await (const records of readBackward(log, session)) {
    const read = records.flatMap(({ delta }) =>
      delta?.type === 'commit_part' && delta.part !== undefined ? [delta] : [],
    );
    parts = [...read, ...parts];
    for (const { fact } of records) if (fact?.type === 'item_redacted') redacted.add(fact.itemId);
    const last = records.findLast(
      ({ fact }) => fact?.type === 'item_started' && fact.kind === 'user',
    );
    if (last?.fact?.type !== 'item_started') continue;
    const { itemId } = last.fact;
    if (redacted.has(itemId)) return '';
    return messageText({ parts: parts.filter((delta) => delta.itemId === itemId) });
  }
  return '';
}

function messageText({ parts }: { readonly parts: readonly Pick<PartSlot, 'part'>[] }): string {
  return parts
    .flatMap(({ part }) => (part?.kind === 'text' && !isModeNote(part.text) ? part.text : []))
    .join('\n');
}
