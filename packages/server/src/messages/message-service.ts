import type { DraftRecord, FoldState, Ids, JsonValue } from '@millrace/core';
import type { Content } from '../contract/content.ts';
import type { TaskMessage } from '../contract/message.ts';
import type { MessageFilter } from '../contract/request-bodies.ts';
import { ServerError } from '../contract/server-error.ts';
import type { ListPage, MessageService } from '../contract/service.ts';
import type { TaskJournal } from '../contract/task-journal.ts';
import { isoTime, notFoundError, PageSizeLimit } from '../stores/row-access.ts';
import { messageOf, messagesOf } from '../updates/task-messages.ts';
import { editDrafts } from './edit-message.ts';
import { messageDrafts, withMetadata } from './message-drafts.ts';

/** Calls `work` with the task's journal and returns its result. Throws if the task does not exist. */
export type WithJournal = <T>(
  taskId: string,
  work: (journal: TaskJournal) => Promise<T>,
) => Promise<T>;

export function messageService(withJournal: WithJournal, ids: Ids): MessageService {
  const stateOf = (taskId: string) => withJournal(taskId, (journal) => journal.state());
  const edit = (
    taskId: string,
    edits: readonly { id: string; content: Content }[],
    isOpen = false,
  ) =>
    withJournal(taskId, async (journal) => {
      // The empty append takes the lease. The state is then current, and no other process can edit at the
      // same time.
      await journal.append([]);
      for (const { id, content } of edits) {
        const drafts = editDrafts(await journal.state(), { id, content, isOpen }, ids);
        if (drafts === undefined) throw notFoundError('message', id);
        if (drafts.length > 0) await journal.append(drafts);
      }
      const state = await journal.state();
      return edits.map(({ id }) => requireMessage(state, id));
    });
  const create = (taskId: string, contents: readonly Content[], options: NewMessageOptions) =>
    withJournal(taskId, async (journal) => {
      const all = contents.map((content) => newMessage(taskId, content, options, ids));
      await journal.append(all.flatMap(({ drafts }) => drafts));
      const state = await journal.state();
      return all.map(({ id }) => requireMessage(state, id));
    });
  return {
    async list({ taskId, filters, limit, pageNumber, cursor, direction }) {
      const messages = filterMessages(messagesOf(await stateOf(taskId)), filters);
      const skip = (pageNumber - 1) * limit;
      const order = direction === 'desc' ? 'older' : 'newer';
      return sliceMessages(messages, { limit, skip, cursor, direction: order });
    },
    async page({ taskId, filters, ...slice }) {
      return sliceMessages(filterMessages(messagesOf(await stateOf(taskId)), filters), slice);
    },
    async get(id) {
      const taskId = taskIdOf(id);
      return requireMessage(await stateOf(taskId), id);
    },
    async create({ task_id, content, streaming_status, created_at }) {
      const options = { isOpen: streaming_status === 'IN_PROGRESS', createdAt: created_at };
      return firstMessage(await create(task_id, [content], options), task_id);
    },
    createMany: ({ task_id, contents, created_at }) =>
      create(task_id, contents, { isOpen: false, createdAt: created_at }),
    async update(id, { task_id, content, streaming_status }) {
      if (taskIdOf(id) !== task_id) throw notFoundError('message', id);
      const isOpen = streaming_status === 'IN_PROGRESS';
      return firstMessage(await edit(task_id, [{ id, content }], isOpen), id);
    },
    updateMany: ({ task_id, updates }) =>
      edit(
        task_id,
        Object.entries(updates).map(([id, content]) => ({ id, content })),
      ),
  };
}

interface NewMessageOptions {
  readonly isOpen: boolean;
  readonly createdAt: string | null | undefined;
}

function newMessage(
  taskId: string,
  content: Content,
  { isOpen, createdAt }: NewMessageOptions,
  ids: Ids,
): { readonly id: string; readonly drafts: readonly DraftRecord[] } {
  const drafts = messageDrafts(content, ids, { isOpen });
  const [first] = drafts.flatMap(({ delta }) =>
    delta?.type === 'commit_part' || delta?.type === 'begin_part' ? delta.partId : [],
  );
  const id = `${taskId}.${first}`;
  if (createdAt == null) return { id, drafts };
  // A message with its own time stores its id in the same metadata.
  const metadata = { message: id, createdAt: isoTime(Date.parse(createdAt)) };
  return { id, drafts: drafts.map((draft) => withMetadata(draft, metadata)) };
}

/**
 * Returns the task id in a message id. Message ids are `<task id>.<part id>`, and task ids contain no dot.
 */
function taskIdOf(id: string): string {
  const [, taskId] = /^([^.]+)\.\d+\.\d+\../s.exec(id) ?? [];
  if (taskId === undefined) throw notFoundError('message', id);
  return taskId;
}

function requireMessage(state: FoldState, id: string): TaskMessage {
  const message = messageOf(state, id);
  if (message === undefined) throw notFoundError('message', id);
  return message;
}

function firstMessage(messages: readonly TaskMessage[], what: string): TaskMessage {
  const [message] = messages;
  if (message !== undefined) return message;
  throw new ServerError(
    'internal',
    `Cannot read back the message that was just written to ${what}`,
  );
}

/**
 * Returns the messages that match at least one including filter and no excluding filter. If there is no
 * including filter, all messages are included.
 */
function filterMessages(
  messages: readonly TaskMessage[],
  filters: readonly MessageFilter[],
): readonly TaskMessage[] {
  const included = filters.filter(({ exclude }) => !exclude);
  const excluded = filters.filter(({ exclude }) => exclude);
  return messages.filter(
    (message) =>
      (included.length === 0 || included.some((filter) => matchesFilter(message, filter))) &&
      !excluded.some((filter) => matchesFilter(message, filter)),
  );
}

function matchesFilter(
  message: TaskMessage,
  { content, streaming_status }: MessageFilter,
): boolean {
  if (streaming_status != null && message.streaming_status !== streaming_status) return false;
  if (content == null) return true;
  const has = message.content as Readonly<Record<string, JsonValue>>;
  return Object.entries(content).every(([key, value]) => isEqual(has[key], value));
}

function isEqual(a: JsonValue | undefined, b: JsonValue): boolean {
  return a === b || (a !== undefined && JSON.stringify(a) === JSON.stringify(b));
}

interface MessageSlice {
  readonly limit: number;
  readonly direction: 'older' | 'newer';
  readonly cursor?: string | undefined;
  /** The number of messages to skip if there is no cursor. */
  readonly skip?: number | undefined;
}

/**
 * Returns a slice of messages. `messages` is ordered from oldest to newest. With `older`, the slice starts
 * at the newest message.
 */
function sliceMessages(
  messages: readonly TaskMessage[],
  { limit, direction, cursor, skip = 0 }: MessageSlice,
): ListPage<TaskMessage> {
  const inOrder = direction === 'older' ? messages.toReversed() : messages;
  const start = cursor === undefined ? skip : startAfter(inOrder, cursor, direction);
  const data = inOrder.slice(start, start + limit);
  const pageSize = new PageSizeLimit();
  for (const message of data) pageSize.add(message.content);
  const last = data.at(-1);
  const hasMore = start + limit < inOrder.length;
  return { data, next: hasMore && last !== undefined ? cursorOf(last) : null };
}

/**
 * Returns the cursor of a message. It also contains the time, because the message may be deleted before the
 * next request.
 */
function cursorOf({ id, created_at }: TaskMessage): string {
  return Buffer.from(`${created_at} ${id}`).toString('base64url');
}

function startAfter(
  inOrder: readonly TaskMessage[],
  cursor: string,
  direction: MessageSlice['direction'],
): number {
  const [, time, id] = /^(\S+) (.+)$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (time === undefined || Number.isNaN(Date.parse(time))) throw badCursor();
  const position = inOrder.findIndex((message) => message.id === id);
  if (position >= 0) return position + 1;
  const isAfter = ({ created_at }: TaskMessage) =>
    direction === 'older' ? (created_at ?? '') < time : (created_at ?? '') > time;
  const next = inOrder.findIndex(isAfter);
  return next < 0 ? inOrder.length : next;
}

function badCursor(): ServerError {
  const message = 'Cannot continue from this cursor: it is not from a list. Start without a cursor';
  return new ServerError('invalid', message);
}
