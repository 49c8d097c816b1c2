import type { DraftRecord, FoldState, Ids } from '@millrace/core';
import type { Content } from '../contract/content.ts';
import type { TaskMessage } from '../contract/message.ts';
import { ServerError } from '../contract/server-error.ts';
import type { MessageService } from '../contract/service.ts';
import type { TaskJournal } from '../contract/task-journal.ts';
import { messageOf, messagesOf } from '../updates/messages-of.ts';
import { editDrafts } from './edit-message.ts';
import { isoTime } from './iso-time.ts';
import { messageDrafts, withMetadata } from './message-drafts.ts';
import { filterMessages, sliceMessages } from './message-list.ts';
import { noSuch } from './row-errors.ts';

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
