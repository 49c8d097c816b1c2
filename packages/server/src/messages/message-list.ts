import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FoldState, ItemState } from '@millrace/core';
import type { TaskMessage } from '../contract/message.ts';
import type { MessageFilter } from '../contract/request-bodies.ts';
import { ServerError } from '../contract/server-error.ts';
import type { ListPage } from '../contract/service.ts';
import { PageSizeLimit, pageTooLarge } from '../stores/row-access.ts';
import { hasFields } from '../stores/same-json.ts';
import {
  editedId,
  isIndexed,
  isStreaming,
  type LoggedMessage,
  messagesInItem,
} from '../updates/logged-message.ts';
import { createdAt, currentMessages, messageRow } from '../updates/task-messages.ts';

/** Selects a page of the messages of a task. */
export interface MessageQuery {
  readonly filters: readonly MessageFilter[];
  readonly limit: number;
  /** `older` lists messages from newest to oldest. `newer` lists them from oldest to newest. */
  readonly direction: 'older' | 'newer';
  /** The `next` of the previous page. Default: starts with the first message. */
  readonly cursor?: string | undefined;
  /** The number of messages to skip if there is no cursor. Default: 0. */
  readonly skip?: number | undefined;
}

/** The number of messages that a list reads before the other work of the process runs. */
const messagesPerTurn = 16;

/**
 * Returns a page of the messages of a task. The page ends early if it becomes too large, and `next` continues
 * it. Throws `too_large` if such a page was selected by its number, because the next number would skip
 * messages.
 */
export async function listMessages(
  state: FoldState,
  query: MessageQuery,
): Promise<ListPage<TaskMessage>> {
  const { limit, direction, filters, skip = 0 } = query;
  const cursor = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const list = orderedMessages(state);
  const isIncluded = filterOf(filters);
  const step = direction === 'older' ? -1 : 1;
  let left = cursor === undefined ? skip : 0;
  let position = direction === 'older' ? list.length - 1 : 0;
  if (cursor !== undefined) position = list.positionAfter(cursor, direction);
  else if (filters.length === 0) [position, left] = [position + step * skip, 0];
  const data: TaskMessage[] = [];
  const pageSize = new PageSizeLimit();
  for (let read = 1; ; position += step, read++) {
    if (read % messagesPerTurn === 0) await nextTurn();
    const message = list.at(position);
    if (message === undefined) return { data, next: null };
    if (!isIncluded(message)) continue;
    if (left-- > 0) continue;
    const last = data.at(-1);
    const isFull = data.length === limit || !pageSize.accepts(message.content);
    if (isFull && last !== undefined) {
      if (data.length < limit && cursor === undefined && skip > 0) throw pageTooLarge();
      return { data, next: encodeCursor(last) };
    }
    data.push(message);
  }
}

/** The messages of a task in the order of their creation. Position 0 is the oldest message. */
interface OrderedMessages {
  readonly length: number;
  /** Returns the message at a position. Returns undefined if no message is there. */
  at(position: number): TaskMessage | undefined;
  /** Returns the position that follows the cursor's message in the given direction. */
  positionAfter(cursor: Cursor, direction: MessageQuery['direction']): number;
}

function orderedMessages(state: FoldState): OrderedMessages {
  return summaryOf(state, state.items).isOrdered
    ? new MessagesInOrder(state)
    : new SortedMessages(state);
}

/** Messages that need sorting, because some messages were edited or have their own creation time. */
class SortedMessages implements OrderedMessages {
  readonly #state: FoldState;
  readonly #messages: readonly LoggedMessage[];

  constructor(state: FoldState) {
    this.#state = state;
    this.#messages = currentMessages(state);
  }

  get length(): number {
    return this.#messages.length;
  }

  at(position: number): TaskMessage | undefined {
    const message = this.#messages[position];
    return message === undefined ? undefined : messageRow(this.#state, message);
  }

  positionAfter({ time, id }: Cursor, direction: MessageQuery['direction']): number {
    const position = this.#messages.findIndex((message) => message.id === id);
    const createdOf = ({ item }: LoggedMessage) => createdAt(item) ?? '';
    if (direction === 'newer') {
      if (position >= 0) return position + 1;
      const next = this.#messages.findIndex((message) => createdOf(message) > time);
      return next < 0 ? this.length : next;
    }
    if (position >= 0) return position - 1;
    return this.#messages.findLastIndex((message) => createdOf(message) < time);
  }
}

type Items = FoldState['items'];

/**
 * Messages whose order on the log equals the order of their creation. It reads only the messages of the page.
 * A page of a long task therefore takes no more time than a page of a short task.
 */
class MessagesInOrder implements OrderedMessages {
  readonly length: number;
  readonly #state: FoldState;
  /** The node of the linked item list that was read last. The next requested message is usually near it. */
  #link: Items;

  constructor(state: FoldState) {
    this.#state = state;
    this.#link = state.items;
    this.length = summaryOf(state, state.items).count;
  }

  at(position: number): TaskMessage | undefined {
    if (position < 0 || position >= this.length) return undefined;
    // A node points only to older nodes. The search for a newer message therefore starts at the newest node.
    if (position >= this.#countOf(this.#link)) this.#link = this.#state.items;
    while (position < this.#countOf(this.#link.before))
      this.#link = this.#link.before ?? this.#link;
    const message = this.#messagesIn(this.#link)[position - this.#countOf(this.#link.before)];
    return message === undefined ? undefined : messageRow(this.#state, message);
  }

  positionAfter({ time, id }: Cursor, direction: MessageQuery['direction']): number {
    let link: Items | undefined = this.#state.items;
    // Skips a node if the previous node already ends after the cursor's time. All messages of the skipped
    // node are then newer than the cursor's message.
    while (link?.before !== undefined && this.#lastTimeOf(link.before) > time) link = link.before;
    let [older, newer] = [-1, this.#countOf(link)];
    for (; link !== undefined && newer > older + 1; link = link.before) {
      const first = this.#countOf(link.before);
      for (const [index, message] of this.#messagesIn(link).entries()) {
        if (message.id === id) return first + index + (direction === 'older' ? -1 : 1);
        const created = createdAt(message.item) ?? '';
        if (created < time) older = Math.max(older, first + index);
        if (created > time) newer = Math.min(newer, first + index);
      }
      if (this.#lastTimeOf(link) < time) break;
    }
    return direction === 'older' ? older : newer;
  }

  #messagesIn({ chunk }: Items) {
    return chunk.flatMap((item) => messagesInItem(this.#state, item));
  }

  #countOf(link: Items | undefined): number {
    return link === undefined ? 0 : summaryOf(this.#state, link).count;
  }

  #lastTimeOf(link: Items): string {
    return summaryOf(this.#state, link).lastTime;
  }
}

/** A summary of the messages in one node of the item list and in all older nodes. */
interface Summary {
  readonly count: number;
  /** The creation time of the newest message. Empty if there are no messages. */
  readonly lastTime: string;
  /** True if the messages are in the order of their creation, and no message is hidden or replaced. */
  readonly isOrdered: boolean;
}

const nothing: Summary = { count: 0, lastTime: '', isOrdered: true };
/** Caches the summary of each node. A node never changes, so its summary stays valid. */
const summaries = new WeakMap<Items, Summary>();

function summaryOf(state: FoldState, items: Items): Summary {
  const links: Items[] = [];
  let link: Items | undefined = items;
  let summary: Summary | undefined;
  for (; link !== undefined; link = link.before) {
    summary = summaries.get(link);
    if (summary !== undefined) break;
    links.push(link);
  }
  for (const next of links.reverse()) {
    summary = next.chunk.reduce(
      (before, item) => withItem(state, before, item),
      summary ?? nothing,
    );
    summaries.set(next, summary);
  }
  return summary ?? nothing;
}

function withItem(state: FoldState, summary: Summary, item: ItemState): Summary {
  const messages = messagesInItem(state, item);
  if (messages.length === 0) return summary;
  const time = createdAt(item) ?? '';
  // A message that comes from updates is hidden until it has content. While the message streams, its content
  // is in the open parts of the state, and its item does not change. So the cached summary of this item would
  // not change when the message becomes visible.
  const mayBeHidden = isIndexed(item) && messages.some(isStreaming);
  const isInOrder = editedId(item) === undefined && time !== '' && time >= summary.lastTime;
  return {
    count: summary.count + messages.length,
    lastTime: time,
    isOrdered: summary.isOrdered && isInOrder && !mayBeHidden,
  };
}

/**
 * Returns a function that selects messages. A message must match at least one including filter and no
 * excluding filter. Without an including filter, all messages are included.
 */
function filterOf(filters: readonly MessageFilter[]): (message: TaskMessage) => boolean {
  const included = filters.filter(({ exclude }) => !exclude);
  const excluded = filters.filter(({ exclude }) => exclude);
  return (message) =>
    (included.length === 0 || included.some((filter) => matchesFilter(message, filter))) &&
    !excluded.some((filter) => matchesFilter(message, filter));
}

function matchesFilter(
  message: TaskMessage,
  { content, streaming_status }: MessageFilter,
): boolean {
  if (streaming_status != null && message.streaming_status !== streaming_status) return false;
  if (content == null) return true;
  return hasFields(message.content, content);
}

/**
 * Identifies the last message of a page. It also contains the time, because the message may be deleted later.
 */
interface Cursor {
  readonly time: string;
  readonly id: string;
}

function encodeCursor({ id, created_at }: TaskMessage): string {
  return Buffer.from(`${created_at} ${id}`).toString('base64url');
}

function decodeCursor(text: string): Cursor {
  const [, time, id = ''] = /^(\S+) (.+)$/s.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (time !== undefined && !Number.isNaN(Date.parse(time))) return { time, id };
  const message = 'Cannot continue from this cursor: it is not from a list. Start without a cursor';
  throw new ServerError('invalid', message);
}
