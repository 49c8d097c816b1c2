import type { DraftRecord, FoldState, Ids, JsonValue } from '@millrace/core';
import type { Content } from '../contract/content.ts';
import type { TaskMessage } from '../contract/message.ts';
import type { MessageFilter } from '../contract/request-bodies.ts';
import { ServerError } from '../contract/server-error.ts';
import type { ListPage, MessageService } from '../contract/service.ts';
import type { TaskJournal } from '../contract/task-journal.ts';
import { isoTime, noSuch, PageWeight } from '../stores/row-access.ts';
import { messageOf, messagesOf } from '../updates/task-messages.ts';
import { editDrafts } from './edit-message.ts';
import { messageDrafts, withMetadata } from './message-drafts.ts';

/** Throws where there is no such task. */
export type UseJournal = <T>(
  taskId: string,
  work: (journal: TaskJournal) => Promise<T>,
) => Promise<T>;

export function messageService(use: UseJournal, ids: Ids): MessageService {
  const stateOf = (taskId: string) => use(taskId, (journal) => journal.state());
  const edit = (
    taskId: string,
    edits: readonly { id: string; content: Content }[],
    isOpen = false,
  ) =>
    use(taskId, async (journal) => {
      // With the lease, so that what is edited is what is there, and nobody else edits it meanwhile.
      await journal.append([]);
      for (const { id, content } of edits) {
        const drafts = editDrafts(await journal.state(), { id, content, isOpen }, ids);
        if (drafts === undefined) throw noSuch('message', id);
        if (drafts.length > 0) await journal.append(drafts);
      }
      const state = await journal.state();
      return edits.map(({ id }) => found(state, id));
    });
  const create = (taskId: string, contents: readonly Content[], made: Made) =>
    use(taskId, async (journal) => {
      const all = contents.map((content) => newMessage(taskId, content, made, ids));
      await journal.append(all.flatMap(({ drafts }) => drafts));
      const state = await journal.state();
      return all.map(({ id }) => found(state, id));
    });
  return {
    async list({ taskId, filters, limit, pageNumber, cursor, direction }) {
      const messages = filterMessages(messagesOf(await stateOf(taskId)), filters);
      const skip = (pageNumber - 1) * limit;
      const way = direction === 'desc' ? 'older' : 'newer';
      return sliceMessages(messages, { limit, skip, cursor, direction: way });
    },
    async page({ taskId, filters, ...slice }) {
      return sliceMessages(filterMessages(messagesOf(await stateOf(taskId)), filters), slice);
    },
    async get(id) {
      const taskId = taskOf(id);
      return found(await stateOf(taskId), id);
    },
    async create({ task_id, content, streaming_status, created_at }) {
      const made = { isOpen: streaming_status === 'IN_PROGRESS', createdAt: created_at };
      return one(await create(task_id, [content], made), task_id);
    },
    createMany: ({ task_id, contents, created_at }) =>
      create(task_id, contents, { isOpen: false, createdAt: created_at }),
    async update(id, { task_id, content, streaming_status }) {
      if (taskOf(id) !== task_id) throw noSuch('message', id);
      const isOpen = streaming_status === 'IN_PROGRESS';
      return one(await edit(task_id, [{ id, content }], isOpen), id);
    },
    updateMany: ({ task_id, updates }) =>
      edit(
        task_id,
        Object.entries(updates).map(([id, content]) => ({ id, content })),
      ),
  };
}

interface Made {
  readonly isOpen: boolean;
  readonly createdAt: string | null | undefined;
}

function newMessage(
  taskId: string,
  content: Content,
  { isOpen, createdAt }: Made,
  ids: Ids,
): { readonly id: string; readonly drafts: readonly DraftRecord[] } {
  const drafts = messageDrafts(content, ids, { isOpen });
  const [first] = drafts.flatMap(({ delta }) =>
    delta?.type === 'commit_part' || delta?.type === 'begin_part' ? delta.partId : [],
  );
  const id = `${taskId}.${first}`;
  if (createdAt == null) return { id, drafts };
  // A time of its own goes with the id that it is shown under.
  const metadata = { message: id, createdAt: isoTime(Date.parse(createdAt)) };
  return { id, drafts: drafts.map((draft) => withMetadata(draft, metadata)) };
}

/** `<task id>.<part id>`; the task's has no dot in it. */
function taskOf(id: string): string {
  const [, taskId] = /^([^.]+)\.\d+\.\d+\../s.exec(id) ?? [];
  if (taskId === undefined) throw noSuch('message', id);
  return taskId;
}

function found(state: FoldState, id: string): TaskMessage {
  const message = messageOf(state, id);
  if (message === undefined) throw noSuch('message', id);
  return message;
}

function one(messages: readonly TaskMessage[], what: string): TaskMessage {
  const [message] = messages;
  if (message !== undefined) return message;
  throw new ServerError('internal', `Cannot find what was just written to ${what}`);
}

/** Those that one of the filters asks for, where any does, without those that one excludes. */
function filterMessages(
  messages: readonly TaskMessage[],
  filters: readonly MessageFilter[],
): readonly TaskMessage[] {
  const wanted = filters.filter(({ exclude }) => !exclude);
  const unwanted = filters.filter(({ exclude }) => exclude);
  return messages.filter(
    (message) =>
      (wanted.length === 0 || wanted.some((filter) => fits(message, filter))) &&
      !unwanted.some((filter) => fits(message, filter)),
  );
}

function fits(message: TaskMessage, { content, streaming_status }: MessageFilter): boolean {
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
  /** How many to leave out first, where there is no cursor. */
  readonly skip?: number | undefined;
}

/** A stretch of messages that are given oldest first; `older` goes back from the newest. */
function sliceMessages(
  messages: readonly TaskMessage[],
  { limit, direction, cursor, skip = 0 }: MessageSlice,
): ListPage<TaskMessage> {
  const inOrder = direction === 'older' ? messages.toReversed() : messages;
  const start = cursor === undefined ? skip : startAfter(inOrder, cursor, direction);
  const data = inOrder.slice(start, start + limit);
  const weight = new PageWeight();
  for (const message of data) weight.add(message.content);
  const last = data.at(-1);
  const hasMore = start + limit < inOrder.length;
  return { data, next: hasMore && last !== undefined ? cursorOf(last) : null };
}

/** The time goes with it, because the message may be gone when it is asked for again. */
function cursorOf({ id, created_at }: TaskMessage): string {
  return Buffer.from(`${created_at} ${id}`).toString('base64url');
}

function startAfter(
  inOrder: readonly TaskMessage[],
  cursor: string,
  direction: MessageSlice['direction'],
): number {
  const [, time, id] = /^(\S+) (.+)$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (time === undefined || Number.isNaN(Date.parse(time))) throw noCursor();
  const place = inOrder.findIndex((message) => message.id === id);
  if (place >= 0) return place + 1;
  const isAfter = ({ created_at }: TaskMessage) =>
    direction === 'older' ? (created_at ?? '') < time : (created_at ?? '') > time;
  const next = inOrder.findIndex(isAfter);
  return next < 0 ? inOrder.length : next;
}

function noCursor(): ServerError {
  const message = 'Cannot go on from this cursor: it is none that a list gave. Start without one';
  return new ServerError('invalid', message);
}
