import {
  type FoldState,
  type ItemState,
  isCut,
  type JsonObject,
  type JsonValue,
  toArray,
} from '@millrace/core';
import { regeneratedKey } from '@millrace/core/streams';
import type { Log } from '@millrace/log';
import { type Content, contentSchema } from '../../contract/content.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { MessageExtras } from '../../contract/service.ts';
import type { RouteContext } from '../../http/route.ts';
import type { ChatInput } from './chat-body.ts';
import { type ChatState, type ChatStep, chatNear, emptyChat, readChat } from './chat-state.ts';
import type { Chat } from './chat-task.ts';
import type { AnswerStream } from './stream-answer.ts';

type ChatMessage = Extract<ChatInput, { readonly kind: 'message' }>;

/**
 * Sends a message of the user and returns the stream of its answer. The message id makes retries
 * idempotent.
 */
export async function sendChatMessage(
  chat: Chat,
  { id, text, files, isRegenerate }: ChatMessage,
  context: RouteContext,
): Promise<AnswerStream> {
  const key = isRegenerate || id === undefined ? undefined : `chat:${id}`;
  // To answer the last message again, its text is compared. It may be the message of an earlier run.
  const isNearEnd = chat.kind === 'loop' && !isRegenerate;
  const history = await (isNearEnd ? readRecent : readHistory)(chat, key, context);
  if (history.known === undefined) assertNoPendingApproval(chat, history.before);
  else if (history.known !== text) throw messageChanged(chat);
  if (isRegenerate) assertLastMessage(chat, text, history);
  if (files.length > 0 && chat.kind !== 'loop') throw textOnly(chat);
  const content = contentSchema.parse({ type: 'text', author: 'user', content: text });
  const isKnown = history.known !== undefined;
  const metadata =
    isRegenerate && history.lastId !== undefined ? { [regeneratedKey]: history.lastId } : undefined;
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
  /** The id of the last message's item. Undefined if the agent made no item of it. */
  readonly lastId: string | undefined;
}

async function readHistory(
  { taskId, kind }: Chat,
  key: string | undefined,
  { log }: RouteContext,
): Promise<ChatHistory> {
  let known: string | undefined;
  let queued: string | undefined;
  const before = await readChat(log, emptyChat(taskId), ({ record: { fact } }) => {
    if (fact?.type !== 'command_queued') return;
    const text = textOfCommand(fact.command);
    queued = text ?? queued;
    if (key !== undefined && fact.key === `event:${key}`) known = text;
  });
  if (key !== undefined) known ??= textOfItem(itemWithKey(before.fold, key));
  const lastItem = lastUserItem(before.fold);
  const last = kind === 'async' ? queued : textOfItem(lastItem);
  return { before, known, last, lastId: kind === 'async' ? undefined : lastItem?.id };
}

/** Reads a chat from the end of its last run. The cost does not depend on the length of the chat. */
async function readRecent(
  chat: Chat,
  key: string | undefined,
  context: RouteContext,
): Promise<ChatHistory> {
  const { log } = context;
  const { taskId } = chat;
  const { through = 0 } = (await log.info(taskId)) ?? {};
  const near = await chatNear(log, taskId, through);
  const before = await readChat(log, near).catch((error: unknown) => {
    // A record may change an item of an earlier run. The chat is then read with all items.
    if (!isCut(near.fold.items)) throw error;
  });
  if (before === undefined) return readHistory(chat, key, context);
  const known = key === undefined ? undefined : await textOfKey(log, taskId, `event:${key}`);
  return { before, known, last: undefined, lastId: undefined };
}

/** Returns the text of the message that was queued with this key. */
async function textOfKey(log: Log, taskId: string, key: string): Promise<string | undefined> {
  const found = await log.findCommand(taskId, key);
  if (found === undefined) return undefined;
  const { records } = await log.read(taskId, { from: found.offset - 1, maxBytes: 1 });
  const fact = records.find(({ offset }) => offset === found.offset)?.fact;
  return fact?.type === 'command_queued' ? textOfCommand(fact.command) : undefined;
}

/**
 * Throws if an approval is pending. Otherwise the message would wait in the queue, and the user would not
 * see it.
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
 * Throws unless this is the last message. Earlier messages cannot be answered again, because the task keeps
 * everything after them.
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
 * Sends a message to a sync agent. If the key was used before, the agent does not run again, because the
 * log has the answer.
 */
async function sendToSync(
  { taskId: task_id, agentId }: Chat,
  { key, content, before, isKnown, extras }: OutgoingMessage,
  { service, trace }: RouteContext,
): Promise<AnswerStream> {
  // The call resolves when the run has started. The run continues even if nobody reads it.
  const { run } = await service.tasks.sendMessage(
    agentId,
    { task_id, content },
    { key, trace, extras },
  );
  return {
    from: isKnown ? emptyChat(task_id) : before,
    isStart: ({ record: { fact } }) => fact?.type === 'run_started' && fact.runId === run,
  };
}

/**
 * Sends a message to an agent loop or an async agent, as a command on the log. If the key was used before,
 * nothing is stored.
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
  // The queue of an async agent decides when an answer starts, so the whole queue is read.
  const start = () =>
    kind === 'loop' ? chatNear(log, task_id, sequence_id - 1) : emptyChat(task_id);
  return {
    from: isNew ? before : await start(),
    isStart: (step) => isAnswerStart(chat, sequence_id, step),
  };
}

/**
 * Returns whether a step starts the answer to the message. An agent loop consumes the message when its run
 * reaches it. An async agent consumes the message after handling it. Its run starts while the message is
 * first in the queue.
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
 * Throws if the previous run ended with one of these reasons. Queued messages then wait until the next
 * message arrives.
 */
function assertContinues(taskId: string, reason: string): void {
  if (!['aborted', 'error', 'limit', 'parked', 'blocked'].includes(reason)) return;
  const message = `Cannot answer in task ${taskId} now: the previous run ended (${reason}). The message is queued and is answered together with the next one`;
  throw new ServerError('bad_state', message, { task: taskId }, { details: { stop: reason } });
}

/** A message for an agent. */
interface OutgoingMessage {
  readonly content: Content;
  /** The idempotency key. Undefined if the message must be sent even if it is the same as before. */
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

/** Returns the message that a sync agent received with this key. */
function itemWithKey({ items }: FoldState, key: string): ItemState | undefined {
  return toArray(items).find(({ metadata }) => metadata?.['key'] === key);
}

function textOfItem(item: ItemState | undefined): string | undefined {
  const texts = item?.parts.flatMap(({ part }) => (part?.kind === 'text' ? part.text : []));
  return texts?.join('\n');
}

/** Returns the text of a queued message or event. Returns undefined if it has no text. */
function textOfCommand({ type, items, content }: JsonObject): string | undefined {
  if (type === 'event') return textOf(content, 'content');
  if (type !== 'message' || !Array.isArray(items)) return undefined;
  const parts = items.flatMap((item) => (isObject(item) ? (item['parts'] ?? []) : []));
  return parts.flatMap((part) => textOf(part, 'text') ?? []).join('\n');
}

function textOf(value: JsonValue | undefined, key: string): string | undefined {
  const text = isObject(value) ? value[key] : undefined;
  return typeof text === 'string' ? text : undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
