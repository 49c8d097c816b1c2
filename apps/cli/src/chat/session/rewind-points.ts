import { itemLabelOf, labelItem } from '@millrace/agent';
import {
  type CommitWhole,
  type ItemId,
  type PartSlot,
  type SessionId,
  toArray,
} from '@millrace/core';
import { type Log, readBackward, readRecords, snapshot } from '@millrace/log';
import { isModeNote } from '../../agent/session-mode.ts';

/** A message of the user that has a label, or can get one. */
export interface LabelledMessage {
  /** The item that gets the label. */
  readonly itemId: ItemId;
  readonly text: string;
  /** Undefined if the message has no label. */
  readonly label?: string | undefined;
  /** The items of the same run that have a label. Another program may have labelled a later message of the run. */
  readonly labelled: readonly ItemId[];
}

/** A message to which the user can go back. */
export interface RewindPoint extends LabelledMessage {
  /** The offset of the last record before the message. */
  readonly through: number;
  /** The time of the message, in milliseconds since 1970. */
  readonly time: number;
}

/** The labels of items. An item with a removed label has an undefined label. */
type Labels = ReadonlyMap<ItemId, string | undefined>;

/**
 * Returns the messages to which the user can go back, oldest first. A message that was sent during
 * a run belongs to the message that started the run.
 */
export async function rewindPoints(log: Log, session: SessionId): Promise<readonly RewindPoint[]> {
  const starts: { through: number; time: number; itemIds: [ItemId, ...ItemId[]] }[] = [];
  const labels = new Map<ItemId, string | undefined>();
  let idleThrough = 0;
  for await (const record of readRecords(log, session)) {
    const { offset, time, fact } = record;
    const label = itemLabelOf(record);
    if (label !== undefined) labels.set(label.itemId, label.text);
    if (fact?.type === 'run_finished') idleThrough = offset;
    if (fact?.type !== 'item_started' || fact.kind !== 'user') continue;
    const last = starts.at(-1);
    if (last?.through === idleThrough) last.itemIds.push(fact.itemId);
    else starts.push({ through: idleThrough, time, itemIds: [fact.itemId] });
  }
  if (starts.length === 0) return [];
  const { items } = await snapshot(log, session);
  const textById = new Map(toArray(items).map((item) => [item.id, messageText(item)]));
  return starts.map(({ through, time, itemIds }) => ({
    ...{ through, time, text: textById.get(itemIds[0]) ?? '', ...labelIn(itemIds, labels) },
  }));
}

/** Sets the label of a message. An empty text removes it. */
export async function labelMessage(
  log: Log,
  session: SessionId,
  { itemId, labelled }: LabelledMessage,
  text: string,
): Promise<void> {
  await labelItem(log, session, { itemId, text });
  for (const other of labelled)
    if (other !== itemId) await labelItem(log, session, { itemId: other });
}

function labelIn(itemIds: readonly [ItemId, ...ItemId[]], labels: Labels) {
  const labelled = itemIds.filter((id) => labels.get(id) !== undefined);
  const [first] = labelled;
  return { itemId: itemIds[0], label: first && labels.get(first), labelled };
}

/**
 * Returns the text of the last message of the user. It is empty if there is none, or if the message was redacted.
 */
export async function lastMessage(log: Log, session: SessionId): Promise<string> {
  return (await lastLabelled(log, session))?.text ?? '';
}

/**
 * Returns the last message of the user, with its label. It reads the session backwards, because the message is
 * usually near the end. A message that was sent during a run has the label of the message that started the run.
 */
export async function lastLabelled(
  log: Log,
  session: SessionId,
): Promise<LabelledMessage | undefined> {
  const labels = new Map<ItemId, string | undefined>();
  const redacted = new Set<ItemId>();
  const parts: CommitWhole[] = [];
  let text: string | undefined;
  let itemIds: readonly ItemId[] = [];
  const found = (): LabelledMessage | undefined => {
    const [first, ...others] = itemIds;
    if (first === undefined) return undefined;
    return { text: text ?? '', ...labelIn([first, ...others], labels) };
  };
  for await (const records of readBackward(log, session))
    for (const record of records.toReversed()) {
      const { delta, fact } = record;
      const label = itemLabelOf(record);
      if (label !== undefined && !labels.has(label.itemId)) labels.set(label.itemId, label.text);
      if (delta?.type === 'commit_part' && delta.part !== undefined) parts.push(delta);
      if (fact?.type === 'item_redacted') redacted.add(fact.itemId);
      if (fact?.type === 'run_finished' && itemIds.length > 0) return found();
      if (fact?.type !== 'item_started' || fact.kind !== 'user') continue;
      const { itemId } = fact;
      const own = parts.filter((part) => part.itemId === itemId).toReversed();
      text ??= redacted.has(itemId) ? '' : messageText({ parts: own });
      itemIds = [itemId, ...itemIds];
    }
  return found();
}

function messageText({ parts }: { readonly parts: readonly Pick<PartSlot, 'part'>[] }): string {
  return parts
    .flatMap(({ part }) => (part?.kind === 'text' && !isModeNote(part.text) ? part.text : []))
    .join('\n');
}
