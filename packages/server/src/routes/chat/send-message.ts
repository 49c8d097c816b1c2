import {
  Folder,
  type FoldState,
  type ItemState,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type LogRecord,
  sessionId,
  toArray,
} from '@millrace/core';
import { regeneratedKey, uiMetadataKey } from '@millrace/core/streams';
import { type Log, readBackward } from '@millrace/log';
import { findKeyedRun } from '../../agents/handlers/keyed-messages.ts';
import { type Content, contentSchema } from '../../contract/content.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { MessageExtras } from '../../contract/service.ts';
import type { RouteContext } from '../../http/route.ts';
import { loadRecentState } from '../../journal/local-journal.ts';
import type { ChatInput } from './chat-body.ts';
import { type ChatState, type ChatStep, chatNear, emptyChat, readChatNear } from './chat-state.ts';
import type { Chat } from './chat-task.ts';
import type { AnswerStream } from './stream-answer.ts';

type ChatMessage = Extract<ChatInput, { readonly kind: 'message' }>;

/**
 * Sends a message of the user and returns the stream of its answer. A retry with the same message id has no
 * second effect.
 */
export async function sendChatMessage(
  chat: Chat,
  { id, text, files, metadata: own, isRegenerate }: ChatMessage,
  context: RouteContext,
): Promise<AnswerStream> {
  const key = isRegenerate || id === undefined ? undefined : `chat:${id}`;
  const read = () =>
    isRegenerate ? readLastMessage(chat, context) : readRecent(chat, key, context);
  const history = await context.inTurn(read, 'refuse');
  if (history.known === undefined) assertNoPendingApproval(chat, history.before);
  else if (history.known !== text) throw messageChanged(chat);
  if (isRegenerate) assertLastMessage(chat, text, history);
  if (files.length > 0 && chat.kind !== 'loop') throw textOnly(chat);
  const content = contentSchema.parse({ type: 'text', author: 'user', content: text });
  const isKnown = history.known !== undefined;
  const fields = {
    ...(isRegenerate && history.lastId !== undefined && { [regeneratedKey]: history.lastId }),
    ...(own !== undefined && chat.kind === 'loop' && { [uiMetadataKey]: own }),
  };
  const metadata = Object.keys(fields).length === 0 ? undefined : fields;
  const extras = { files, metadata };
  const sending = { content, key, isKnown, extras, before: history.before };
  return chat.kind === 'sync'
    ? sendToSync(chat, sending, context)
    : sendToQueue(chat, sending, context);
}

interface ChatHistory {
  readonly before: ChatState;
  /** The text that was sent earlier with the same key. */
  readonly known: string | undefined;
  /** The text of the last message. */
  readonly last: string | undefined;
  /** The id of the last message's item. Undefined for async agents, because their messages have no item. */
  readonly lastId: string | undefined;
}

/** Reads a chat from the end of its last run. This takes the same time for long and short chats. */
async function readRecent(
  { taskId, kind }: Chat,
  key: string | undefined,
  { log }: RouteContext,
): Promise<ChatHistory> {
  const near = await readChatNear(log, taskId);
  const before = kind === 'async' ? await withQueue(log, taskId, near) : near;
  const known = key === undefined ? undefined : await textOfKey(log, { taskId, kind }, key);
  return { before, known, last: undefined, lastId: undefined };
}

/**
 * Returns the state with all commands that are still queued. The answer of an async agent starts when its
 * message is the first one, so older commands count too.
 */
async function withQueue(log: Log, taskId: string, near: ChatState): Promise<ChatState> {
  if (near.through === 0) return near;
  const { commands } = (await loadRecentState(log, sessionId(taskId))).value;
  return { ...near, queue: commands.filter(({ offset }) => offset <= near.through) };
}

/**
 * Reads a chat from its last message of the user. It may be the message of an earlier run. The cost does
 * not depend on the length of the chat.
 */
async function readLastMessage(
  { taskId, kind }: Chat,
  { log }: RouteContext,
): Promise<ChatHistory> {
  const found = await findLastMessage(log, taskId, kind);
  const near = await readChatNear(log, taskId, undefined, found && found.offset - 1);
  if (kind !== 'async') {
    const item = lastUserItem(near.fold);
    return { before: near, known: undefined, last: textOfItem(item), lastId: item?.id };
  }
  const before = await withQueue(log, taskId, near);
  const last =
    found?.fact?.type === 'command_queued' ? textOfCommand(found.fact.command) : undefined;
  return { before, known: undefined, last, lastId: undefined };
}

/** Finds the last message of the user. It is a command for an async agent, and an item for all other agents. */
async function findLastMessage(
  log: Log,
  taskId: string,
  kind: Chat['kind'],
): Promise<LogRecord | undefined> {
  const isMessage = ({ fact }: LogRecord) =>
    kind === 'async'
      ? fact?.type === 'command_queued' && textOfCommand(fact.command) !== undefined
      : fact?.type === 'item_started' && fact.kind === 'user';
  for await (const records of readBackward(log, taskId)) {
    const found = records.findLast(isMessage);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the text of the message that was sent with this key. */
async function textOfKey(
  log: Log,
  { taskId, kind }: Pick<Chat, 'taskId' | 'kind'>,
  key: string,
): Promise<string | undefined> {
  if (kind === 'sync') return textOfAnswered(log, taskId, key);
  const found = await log.findCommand(taskId, `event:${key}`);
  if (found === undefined) return undefined;
  const { records } = await log.read(taskId, { from: found.offset - 1, maxBytes: 1 });
  const fact = records.find(({ offset }) => offset === found.offset)?.fact;
  return fact?.type === 'command_queued' ? textOfCommand(fact.command) : undefined;
}

/** Returns the text of the message that a sync agent received with this key. */
async function textOfAnswered(log: Log, taskId: string, key: string): Promise<string | undefined> {
  const found = await findKeyedRun(log, sessionId(taskId), key);
  if (found === undefined) return undefined;
  const folder = new Folder(found.before);
  for (;;) {
    const { through } = folder.state;
    const batch = await log.read(taskId, { from: through, maxBytes: messageBytes });
    folder.addBatch(batch);
    const item = itemWithKey(folder.state, key);
    if (item?.finished !== undefined || batch.through <= through) return textOfItem(item);
  }
}

/** The size of one read that searches a message. */
const messageBytes = 2 ** 16;

/**
 * Throws if an approval is pending. Otherwise the message would wait in the queue without the user noticing
 * it.
 */
function assertNoPendingApproval({ id, taskId: task }: Chat, { fold }: ChatState): void {
  const { asked, awaited } = fold;
  const waiting = [...asked, ...awaited];
  if (waiting.length === 0) return;
  const what = asked.length > 0 ? 'an approval' : 'the client to run them';
  const calls = waiting.map(({ toolCallId }) => toolCallId).join(', ');
  const message = `Cannot send a message to chat ${id} now: calls wait for ${what} (${calls}). Answer them, or interrupt task ${task}`;
  throw new ServerError('bad_state', message, { task });
}

/**
 * Throws unless this is the last message. The user cannot regenerate earlier answers, because the task keeps
 * all later messages.
 */
function assertLastMessage(
  { id, taskId: task }: Chat,
  text: string,
  { before, last }: ChatHistory,
): void {
  if (before.fold.run !== undefined) {
    const message = `Cannot regenerate in chat ${id}: an answer is still running. Interrupt task ${task} first, or resume its stream`;
    throw new ServerError('bad_state', message, { task });
  }
  if (last === text) return;
  const message = `Cannot regenerate in chat ${id}: this is not the last message. Send it as a new message`;
  throw new ServerError('bad_state', message, { task });
}

function textOnly({ id, taskId: task }: Chat): ServerError {
  const message = `Cannot send files in chat ${id}: its agent takes only text. Serve an agent loop to send files`;
  return new ServerError('invalid', message, { task });
}

function messageChanged({ id, taskId: task }: Chat): ServerError {
  const message = `Cannot change a message of chat ${id}: the task keeps it. Send the text as a message with a new id`;
  return new ServerError('conflict', message, { task });
}

/**
 * Sends a message to a sync agent. If the key was used before, the agent does not run again, because the log
 * already contains the answer.
 */
async function sendToSync(
  { taskId: task_id, agentId }: Chat,
  { key, content, before, isKnown, extras }: OutgoingMessage,
  { service, trace, log }: RouteContext,
): Promise<AnswerStream> {
  // The call resolves when the run has started. The run continues even if no client reads it.
  const { run } = await service.tasks.sendMessage(
    agentId,
    { task_id, content },
    { key, trace, extras },
  );
  const found =
    isKnown && key !== undefined ? await findKeyedRun(log, sessionId(task_id), key) : undefined;
  const from = found && {
    ...emptyChat(task_id),
    fold: found.before,
    through: found.before.through,
  };
  return {
    from: from ?? before,
    isStart: ({ record: { fact } }) => fact?.type === 'run_started' && fact.runId === run,
  };
}

/**
 * Sends a message to an agent loop or an async agent by queuing a command on the log. If the key was used
 * before, it stores nothing.
 */
async function sendToQueue(
  chat: Chat,
  { key, content, before, extras }: OutgoingMessage,
  { service, trace, log }: RouteContext,
): Promise<AnswerStream> {
  const { taskId: task_id, agentId, kind } = chat;
  const body = { task_id, content };
  const { sequence_id } = await service.tasks.sendEvent(agentId, body, { key, trace, extras });
  const isNew = sequence_id > before.through;
  const start = async () => {
    const near = await chatNear(log, task_id, sequence_id - 1);
    return kind === 'loop'
      ? near
      : { ...near, queue: await queueBefore(log, task_id, sequence_id) };
  };
  return {
    from: isNew ? before : await start(),
    isStart: (step) => isAnswerStart(chat, sequence_id, step),
    ...(key !== undefined && { key: `event:${key}` }),
  };
}

/**
 * Returns the commands that were queued when a message arrived. Commands that are no longer queued were
 * consumed after the message arrived, and before the message was consumed.
 */
async function queueBefore(log: Log, taskId: string, message: number): Promise<ChatState['queue']> {
  const keys = new Set<string>();
  const later = new Map<string, number>();
  for (let from = message - 1; ; ) {
    const { records, through } = await log.read(taskId, { from, maxBytes: messageBytes });
    for (const { fact, offset } of records) {
      if (fact?.type === 'command_queued') later.set(fact.key, offset);
      if (fact?.type !== 'command_consumed') continue;
      if (later.get(fact.key) === message) return offsetsOf(log, taskId, keys);
      if (!later.has(fact.key)) keys.add(fact.key);
    }
    if (through <= from) break;
    from = through;
  }
  const { commands } = (await loadRecentState(log, sessionId(taskId))).value;
  for (const { key, offset } of commands) if (offset < message) keys.add(key);
  return offsetsOf(log, taskId, keys);
}

async function offsetsOf(
  log: Log,
  taskId: string,
  keys: ReadonlySet<string>,
): Promise<ChatState['queue']> {
  const queue = [...keys].map(async (key) => {
    const found = await log.findCommand(taskId, key);
    return found === undefined ? [] : [{ key, offset: found.offset }];
  });
  return (await Promise.all(queue)).flat();
}

/**
 * Returns whether a step starts the answer to the message. An agent loop removes the message from the queue
 * when the run reaches it. An async agent starts a run while the message is first in the queue, and removes
 * the message afterwards.
 */
function isAnswerStart(
  { kind, taskId }: Chat,
  offset: number,
  { record, before }: ChatStep,
): boolean {
  const { fact } = record;
  const command = before.queue.find((command) => command.offset === offset);
  if (command === undefined) return false;
  if (fact?.type === 'run_finished') assertContinues(taskId, fact.stop.reason);
  return kind === 'loop'
    ? fact?.type === 'command_consumed' && fact.key === command.key
    : fact?.type === 'run_started' && before.queue[0] === command;
}

/**
 * Throws if the previous run ended for a reason that keeps queued messages waiting until the next message.
 */
function assertContinues(taskId: string, reason: string): void {
  if (!['aborted', 'error', 'limit', 'parked', 'blocked'].includes(reason)) return;
  const message = `Cannot answer in task ${taskId} now: the previous run ended (${reason}). The message is queued and is answered together with the next one`;
  throw new ServerError('bad_state', message, { task: taskId }, { details: { stop: reason } });
}

/** A message for an agent. */
interface OutgoingMessage {
  readonly content: Content;
  /** The idempotency key. Undefined for a message that must be sent even if it repeats an earlier message. */
  readonly key: string | undefined;
  readonly extras: MessageExtras;
  /** True if the key was used before. */
  readonly isKnown: boolean;
  /** The state of the chat before the message was sent. */
  readonly before: ChatState;
}

/** Returns the last message of the user. */
function lastUserItem({ items }: FoldState): ItemState | undefined {
  return toArray(items).findLast(({ kind }) => kind === 'user');
}

/** Returns the item of the message that a sync agent received with this key. */
function itemWithKey({ items }: FoldState, key: string): ItemState | undefined {
  return toArray(items).find(({ metadata }) => metadata?.['key'] === key);
}

function textOfItem(item: ItemState | undefined): string | undefined {
  const texts = item?.parts.flatMap(({ part }) => (part?.kind === 'text' ? part.text : []));
  return texts?.join('\n');
}

/** Returns the text of a queued message or event. Returns undefined if the command has no text. */
function textOfCommand({ type, items, content }: JsonObject): string | undefined {
  if (type === 'event') return textOf(content, 'content');
  if (type !== 'message' || !Array.isArray(items)) return undefined;
  const parts = items.flatMap((item) => (isJsonObject(item) ? (item['parts'] ?? []) : []));
  return parts.flatMap((part) => textOf(part, 'text') ?? []).join('\n');
}

function textOf(value: JsonValue | undefined, key: string): string | undefined {
  const text = isJsonObject(value) ? value[key] : undefined;
  return typeof text === 'string' ? text : undefined;
}
