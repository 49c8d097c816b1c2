import {
  type DraftRecord,
  defaultContentLimits,
  type FoldState,
  type Ids,
  type ItemId,
} from '@millrace/core';
import type { Content } from '../contract/content.ts';
import type { TaskMessage } from '../contract/message.ts';
import { ServerError } from '../contract/server-error.ts';
import type { MessageService } from '../contract/service.ts';
import type { TaskJournal } from '../contract/task-journal.ts';
import { leaveTurns } from '../http/replies/reply-turns.ts';
import { isoTime, notFoundError } from '../stores/row-access.ts';
import { findMessages } from '../updates/logged-message.ts';
import { messagesWith } from '../updates/task-messages.ts';
import { editDrafts, type MessageEdit } from './edit-message.ts';
import { messageDrafts, withMetadata } from './message-drafts.ts';
import { listMessages } from './message-list.ts';

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
      // The empty append acquires the lease. The state is then current, and no other process can edit at the
      // same time.
      await journal.append([]);
      const editIds = edits.map(({ id }) => id);
      const known = findMessages(await journal.state(), editIds);
      const missing = editIds.find((id) => !known.has(id));
      if (missing !== undefined) throw notFoundError('message', missing);
      for (let rest = edits; rest.length > 0; ) {
        const startedAt = performance.now();
        rest = await editNext(journal, rest, { isOpen, ids });
        await leaveTurns(Math.max(1, performance.now() - startedAt));
      }
      return requireMessages(await journal.state(), editIds);
    });
  const create = (taskId: string, contents: readonly Content[], options: NewMessageOptions) =>
    withJournal(taskId, async (journal) => {
      const all = contents.map((content) => newMessage(taskId, content, options, ids));
      await journal.append(all.flatMap(({ drafts }) => drafts));
      return requireMessages(
        await journal.state(),
        all.map(({ id }) => id),
      );
    });
  return {
    async list({ taskId, filters, limit, pageNumber, cursor, direction: order }) {
      const skip = (pageNumber - 1) * limit;
      const direction = order === 'desc' ? 'older' : 'newer';
      return listMessages(await stateOf(taskId), { filters, limit, skip, cursor, direction });
    },
    async page({ taskId, ...query }) {
      return listMessages(await stateOf(taskId), query);
    },
    async get(id) {
      const taskId = taskIdOf(id);
      return firstMessage(requireMessages(await stateOf(taskId), [id]), id);
    },
    async create({ task_id, content, streaming_status, created_at }) {
      const options = { isOpen: streaming_status === 'IN_PROGRESS', createdAt: created_at };
      return firstMessage(await create(task_id, [content], options), task_id);
    },
    async createMany({ task_id, contents, created_at }) {
      assertBatch(contents);
      return create(task_id, contents, { isOpen: false, createdAt: created_at });
    },
    async update(id, { task_id, content, streaming_status }) {
      if (taskIdOf(id) !== task_id) throw notFoundError('message', id);
      const isOpen = streaming_status === 'IN_PROGRESS';
      return firstMessage(await edit(task_id, [{ id, content }], isOpen), id);
    },
    async updateMany({ task_id, updates }) {
      const edits = Object.entries(updates).map(([id, content]) => ({ id, content }));
      assertBatch(edits.map(({ content }) => content));
      return edit(task_id, edits);
    },
  };
}

/**
 * Refuses a batch with more parts than one message can have. The limit of its messages does not limit its parts, and
 * the server writes a batch at once.
 */
function assertBatch(contents: readonly Content[]): void {
  const { maxParts } = defaultContentLimits;
  const parts = contents.reduce((sum, content) => sum + partsIn(content), 0);
  if (parts <= maxParts) return;
  const message = `Cannot accept a batch of ${parts} parts and attachments: a batch has at most ${maxParts}. Send several batches`;
  throw new ServerError('too_large', message);
}

/** Returns the number of parts and attachments of a message. */
function partsIn(content: Content): number {
  switch (content.type) {
    case 'reasoning':
      return 1 + content.summary.length + (content.content?.length ?? 0);
    case 'text':
      return 1 + (content.attachments?.length ?? 0);
    case 'data':
    case 'tool_request':
    case 'tool_response':
      return 1;
  }
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
  // A message with its own creation time stores its id in the metadata too.
  const metadata = { message: id, createdAt: isoTime(Date.parse(createdAt)) };
  return { id, drafts: drafts.map((draft) => withMetadata(draft, metadata)) };
}

/**
 * Returns the task id that a message id contains. Message ids are `<task id>.<part id>`, and task ids contain
 * no dot.
 */
function taskIdOf(id: string): string {
  const [, taskId] = /^([^.]+)\.\d+\.\d+\../s.exec(id) ?? [];
  if (taskId === undefined) throw notFoundError('message', id);
  return taskId;
}

/** Maximum number of messages that one append edits. Other requests run between two appends. */
const editsPerAppend = 16;
/** An append with this many records edits no further message. The old parts of each message are retracted. */
const recordsPerAppend = 512;

type EditOptions = Pick<MessageEdit, 'isOpen'> & { readonly ids: Ids };

/**
 * Edits the next messages with one search and one append, and returns the edits that remain. The edits of an
 * append change different items, because an edit depends on the other parts of its item.
 */
async function editNext(
  journal: TaskJournal,
  edits: readonly { id: string; content: Content }[],
  { isOpen, ids }: EditOptions,
): Promise<typeof edits> {
  const state = await journal.state();
  const next = edits.slice(0, editsPerAppend);
  const found = findMessages(
    state,
    next.map(({ id }) => id),
  );
  const items = new Set<ItemId>();
  const drafts: DraftRecord[] = [];
  for (const [done, { id, content }] of next.entries()) {
    const message = found.get(id);
    if (message === undefined) throw notFoundError('message', id);
    if (items.has(message.item.id) || drafts.length >= recordsPerAppend) {
      await journal.append(drafts);
      return edits.slice(done);
    }
    items.add(message.item.id);
    drafts.push(...editDrafts(state, { message, content, isOpen }, ids));
  }
  if (drafts.length > 0) await journal.append(drafts);
  return edits.slice(next.length);
}

function requireMessages(state: FoldState, ids: readonly string[]): readonly TaskMessage[] {
  return messagesWith(state, ids).map((message, at) => {
    if (message === undefined) throw notFoundError('message', ids[at] ?? '');
    return message;
  });
}

function firstMessage(messages: readonly TaskMessage[], what: string): TaskMessage {
  const [message] = messages;
  if (message !== undefined) return message;
  throw new ServerError(
    'internal',
    `Cannot read back the message that was just written to ${what}`,
  );
}
