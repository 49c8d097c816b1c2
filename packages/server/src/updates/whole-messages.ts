import { type FoldState, findItem, type ItemId } from '@millrace/core';
import type { Update } from '../contract/message.ts';
import { deltaUpdates, reopenUpdate } from './delta-update.ts';
import {
  isReplaced,
  isStreaming,
  isVisible,
  type LoggedMessage,
  messagesInItem,
  openPartsOf,
} from './logged-message.ts';
import { messageIndex } from './message-index.ts';
import { messageRow, retractedRow, startRow } from './task-messages.ts';

/** Returns updates that retract removed messages, and full updates of changed messages. */
export function changedMessages(
  before: FoldState,
  after: FoldState,
  itemIds: readonly (ItemId | undefined)[],
): readonly Update[] {
  const ids = itemIds.filter((id) => id !== undefined);
  const previous = ids.flatMap((id) => messagesInItem(before, findItem(before, id)));
  const now = ids.flatMap((id) => messagesInItem(after, findItem(after, id)));
  return compareMessages(before, after, previous, now);
}

/** Returns updates for the difference between two lists of messages. */
export function compareMessages(
  before: FoldState,
  after: FoldState,
  previous: readonly LoggedMessage[],
  now: readonly LoggedMessage[],
): readonly Update[] {
  // A message and its edit have the same id, in different items.
  const keyOf = ({ id, item }: LoggedMessage) => `${item.id} ${id}`;
  const old = new Map(previous.map((message) => [keyOf(message), message]));
  const known = new Set(previous.map(({ id }) => id));
  const current = new Set(now.map(({ id }) => id));
  const gone = previous.filter(
    (message) =>
      isVisible(before, message) && !current.has(message.id) && !isReplaced(after, message),
  );
  const changed = now.filter(
    (message) => isVisible(after, message) && !isSameMessage(old.get(keyOf(message)), message),
  );
  return [
    ...gone.flatMap((message) => retractUpdates(before, message)),
    ...changed.flatMap((message) => {
      const isNew = isStreaming(message) && !known.has(message.id);
      return isNew ? restateMessage(after, message) : fullUpdates(after, message);
    }),
  ];
}

/**
 * Returns whether two messages are equal. The fold reuses unchanged objects, so a comparison of references is
 * enough.
 */
function isSameMessage(a: LoggedMessage | undefined, b: LoggedMessage): boolean {
  const isSameSlot = (slot: LoggedMessage['slots'][number], at: number) => slot === b.slots[at];
  return a !== undefined && a.slots.length === b.slots.length && a.slots.every(isSameSlot);
}

/** Returns a message in full, and an empty delta if it continues to stream. */
export function fullUpdates(state: FoldState, message: LoggedMessage): readonly Update[] {
  const row = messageRow(state, message);
  const head = { index: messageIndex(state, message), parent_task_message: row };
  const full: Update = { type: 'full', ...head, content: row.content };
  const [open] = openPartsOf(state, message);
  return open === undefined ? [full] : [full, reopenUpdate(state, message, open)];
}

function retractUpdates(state: FoldState, message: LoggedMessage): readonly Update[] {
  const row = retractedRow(state, message);
  const head = { index: messageIndex(state, message), parent_task_message: row };
  return [{ type: 'full', ...head, content: row.content, retracted: true }];
}

/** Returns a message for a client that connects now. */
export function restateMessage(state: FoldState, message: LoggedMessage): readonly Update[] {
  const row = startRow(state, message);
  const head = { index: messageIndex(state, message), parent_task_message: row };
  const start: Update = { type: 'start', ...head, content: row.content };
  const committed = message.slots.filter(({ part }) => part !== undefined);
  // A client cannot rebuild a block with committed entries from deltas, so the block is sent in full.
  if (committed.length > 0) return [...fullUpdates(state, message)];
  const deltas = openPartsOf(state, message).flatMap((open) =>
    open.text === '' ? [] : deltaUpdates(state, message, open, open.text),
  );
  return [start, ...deltas];
}
