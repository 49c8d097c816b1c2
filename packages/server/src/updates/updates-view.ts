import {
  type AppendText,
  type CommitBuilt,
  type CommitWhole,
  type Delta,
  type FoldState,
  findItem,
  findItemOfPart,
  findOpen,
  type ItemState,
  type LogRecord,
  type OpenPart,
  type PartId,
} from '@millrace/core';
import type { Frame } from '@millrace/core/streams';
import type { Update } from '../contract/message.ts';
import type { FrameView } from '../contract/stream.ts';
import { styleOf, textFields } from './content-parts.ts';
import { deltasBuildContent, deltaUpdates, encodeUpdate, reopenUpdate } from './delta-update.ts';
import {
  editedId,
  isIndexed,
  isStreaming,
  isVisible,
  itemsOfTurn,
  type LoggedMessage,
  messagesInItem,
  messageWithPart,
} from './logged-message.ts';
import { messageIndex } from './message-index.ts';
import { messageRow } from './task-messages.ts';
import { changedMessages, compareMessages, fullUpdates, restateMessage } from './whole-messages.ts';

/** The view that converts the log to task-message updates. Each frame contains one update. */
export const updatesView: FrameView = {
  name: 'updates',
  frames: (before, record, after, next) => {
    const updates = updatesOf(before, record, after, next);
    // The id of the last frame is only the offset, because a client with this id has the complete record.
    const idOf = (k: number) => (k === updates.length - 1 ? '' : `.${k}`);
    return updates.map(({ update, k }) => ({
      id: `${record.offset}${idOf(k)}`,
      data: encodeUpdate(update),
    }));
  },
  restate: (state) => restatement(state).map((update) => ({ data: encodeUpdate(update) })),
};

/** Returns the first frame of a stream of updates. */
export function connectedFrame({ session }: Pick<FoldState, 'session'>): Frame {
  return { data: JSON.stringify({ type: 'connected', taskId: session }) };
}

/** An update, and its position `k` among the updates of its record. */
interface NumberedUpdate {
  readonly update: Update;
  readonly k: number;
}

/**
 * Converts a record to updates. `before` and `after` are the states before and after the record. If the `next` record
 * leads to the same block of reasoning in full, the result is empty.
 */
export function updatesOf(
  before: FoldState,
  record: LogRecord,
  after: FoldState,
  next?: LogRecord | undefined,
): readonly NumberedUpdate[] {
  if (before === after) return [];
  const { delta } = record;
  const updates =
    delta === undefined
      ? updatesOfFact(before, record, after)
      : updatesOfDelta(before, delta, after, next?.delta);
  return updates.map((update, k) => ({ update, k }));
}

/**
 * Returns updates for a client that connects now. Each streaming message gets a `start`, and one `delta` with
 * all of its text.
 */
export function restatement(state: FoldState): readonly Update[] {
  const items = new Set(state.open.map(({ begin }) => begin.itemId));
  return [...items]
    .flatMap((id) => messagesInItem(state, findItem(state, id)))
    .filter((message) => isStreaming(message) && isVisible(state, message))
    .flatMap((message) => restateMessage(state, message));
}

function updatesOfDelta(
  before: FoldState,
  delta: Delta,
  after: FoldState,
  next: Delta | undefined,
): readonly Update[] {
  if (delta.type === 'unknown') return [];
  const { partId } = delta;
  if (delta.type === 'retract_part') return updatesOfRetract(before, partId, after, next);
  const open = findOpen(before, partId);
  // A fast path for appends. They are the most frequent records and do not change an item.
  if (delta.type === 'append_text' && open !== undefined) {
    const growing = messageWithPart(before, findItem(before, open.begin.itemId), partId);
    if (growing !== undefined && isVisible(before, growing))
      return appendUpdates(open, delta, after, growing);
  }
  const item = findItemOfPart(after, partId);
  if (open === undefined && isEntry(item, delta) && isEntry(item, next)) return [];
  const message = messageWithPart(after, item, partId);
  if (message === undefined) return [];
  if (delta.type === 'commit_part') return updatesOfCommit(before, delta, after, message);
  const previous = previousOf(before, message, partId);
  if (previous === undefined || !isVisible(before, previous)) {
    return isVisible(after, message) ? restateMessage(after, message) : [];
  }
  if (delta.type === 'begin_part') {
    // Before this record, the block was complete. A client that connected then has received nothing of the
    // block, so the server sends the whole block.
    return isStreaming(previous) ? newEntry(after, message, partId) : fullUpdates(after, message);
  }
  return delta.type === 'set_metadata' ? reformatted(before, after, message, partId) : [];
}

/** Returns whether the delta adds a whole entry to the block of reasoning of an item. */
function isEntry(item: ItemState | undefined, delta: Delta | undefined): boolean {
  if (delta?.type !== 'commit_part' || delta.part === undefined) return false;
  const isReasoning = delta.part.kind === 'reasoning';
  return isReasoning && item?.id === delta.itemId && isIndexed(item);
}

/** Returns the update for a new entry of a reasoning block. */
function newEntry(state: FoldState, message: LoggedMessage, partId: PartId): readonly Update[] {
  const open = findOpen(state, partId);
  return open === undefined ? [] : [reopenUpdate(state, message, open)];
}

function appendUpdates(
  open: OpenPart,
  { at, chunk }: AppendText,
  after: FoldState,
  message: LoggedMessage,
): readonly Update[] {
  return deltaUpdates(after, message, open, chunk.slice(open.text.length - at));
}

/** Returns a full update of the message if its format, style or attachments have changed. */
function reformatted(
  before: FoldState,
  after: FoldState,
  message: LoggedMessage,
  partId: PartId,
): readonly Update[] {
  const open = findOpen(after, partId);
  const isSame = formatOf(findOpen(before, partId)) === formatOf(open);
  const isProse = open?.begin.kind === 'text' && open.begin.mimeType === undefined;
  return isSame || !isProse || !isStreaming(message) ? [] : fullUpdates(after, message);
}

function formatOf(open: OpenPart | undefined): string {
  const metadata = open?.metadata;
  return JSON.stringify([styleOf(metadata), textFields(metadata)]);
}

function updatesOfCommit(
  before: FoldState,
  delta: CommitBuilt | CommitWhole,
  after: FoldState,
  message: LoggedMessage,
): readonly Update[] {
  const { partId } = delta;
  const open = findOpen(before, partId);
  const known = open && messageWithPart(before, findItem(before, open.begin.itemId), partId);
  if (delta.part !== undefined || known === undefined || !isVisible(before, known)) {
    // The end of a part can also change the other messages of an item with an index: a part that ends as
    // reasoning joins the block.
    if (isIndexed(message.item)) return changedMessages(before, after, [message.item.id]);
    const previous = previousOf(before, message, partId);
    return compareMessages(before, after, previous === undefined ? [] : [previous], [message]);
  }
  if (isStreaming(message)) return [];
  if (!deltasBuildContent(message)) return fullUpdates(after, message);
  const head = {
    index: messageIndex(after, message),
    parent_task_message: messageRow(after, message),
  };
  return [{ type: 'done', ...head }];
}

/**
 * Compares only the message that the part belonged to, because a record can be one of thousands that retract the parts
 * of one item.
 */
function updatesOfRetract(
  before: FoldState,
  partId: PartId,
  after: FoldState,
  next: Delta | undefined,
): readonly Update[] {
  const item = findItemOfPart(before, partId);
  const previous = messageWithPart(before, item, partId);
  if (item === undefined || previous === undefined) return [];
  // The next message of an edit takes over the id of the edited message.
  if (previous.isFirst && editedId(item) !== undefined)
    return changedMessages(before, after, [item.id]);
  const rest = previous.slots.find(({ id }) => id !== partId);
  const message = rest && messageWithPart(after, findItem(after, item.id), rest.id);
  const later = next?.type === 'retract_part' ? next.partId : undefined;
  if (message?.id === previous.id && message.slots.some(({ id }) => id === later)) return [];
  return compareMessages(before, after, [previous], message === undefined ? [] : [message]);
}

function updatesOfFact(
  before: FoldState,
  { fact, turn }: LogRecord,
  after: FoldState,
): readonly Update[] {
  switch (fact?.type) {
    case 'item_redacted':
      return changedMessages(before, after, [fact.itemId]);
    case 'attempt_superseded':
    case 'snapshot':
      return changedMessages(
        before,
        after,
        itemsOfTurn(before, turn).map(({ id }) => id),
      );
    default:
      return [];
  }
}

/**
 * Returns the message as it was before a record of the part. A block of reasoning existed before its newest
 * part.
 */
function previousOf(
  before: FoldState,
  { id, item: { id: itemId }, slots: [first] }: LoggedMessage,
  partId: PartId,
): LoggedMessage | undefined {
  const item = findItem(before, itemId);
  const isNew = first.id === partId && findOpen(before, partId) === undefined;
  const found = isNew ? undefined : messageWithPart(before, item, first.id);
  return found?.id === id ? found : undefined;
}
