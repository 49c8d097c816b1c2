import {
  type FoldState,
  type ItemState,
  type JsonObject,
  type JsonValue,
  toArray,
} from '@millrace/core';
import { type Content, contentSchema } from '../../contract/content.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { RouteContext } from '../../http/route.ts';
import type { ChatInput } from './chat-body.ts';
import { type ChatState, type ChatStep, emptyChat, readChat } from './chat-state.ts';
import type { Chat } from './chat-task.ts';
import type { AnswerStream } from './stream-answer.ts';

type ChatMessage = Extract<ChatInput, { readonly kind: 'message' }>;

/** Sends what a person said, each message once, and gives the answer to it. */
export async function sendChatMessage(
  chat: Chat,
  { id, text, isAgain }: ChatMessage,
  context: RouteContext,
): Promise<AnswerStream> {
  const key = isAgain || id === undefined ? undefined : `chat:${id}`;
  const said = await readHistory(chat, key, context);
  if (said.known === undefined) assertNoPendingApproval(chat, said.before);
  else if (said.known !== text) throw messageChanged(chat);
  if (isAgain) assertLastMessage(chat, text, said);
  const content = contentSchema.parse({ type: 'text', author: 'user', content: text });
  const isKnown = said.known !== undefined;
  const sending = { content, key, isKnown, before: said.before };
  return chat.kind === 'sync'
    ? sendToSync(chat, sending, context)
    : sendToQueue(chat, sending, context);
}

interface ChatHistory {
  readonly before: ChatState;
  /** What was said under that key before. */
  readonly known: string | undefined;
  /** What was said last. */
  readonly last: string | undefined;
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
  const last = kind === 'async' ? queued : textOfItem(lastUserItem(before.fold));
  return { before, known, last };
}

/** Whoever is asked something answers that first: what comes meanwhile would wait for it unseen. */
function assertNoPendingApproval({ id, taskId: task }: Chat, { fold }: ChatState): void {
  if (fold.asked.length === 0) return;
  const calls = fold.asked.map(({ toolCallId }) => toolCallId).join(', ');
  const message = `Cannot send a message to chat ${id} now: calls wait for an approval (${calls}). Answer it, or interrupt task ${task}`;
  throw new ServerError('bad_state', message, { task });
}

/** The task keeps all that was said, so that only the end of it can be gone on with. */
function assertLastMessage(
  { id, taskId: task }: Chat,
  text: string,
  { before, last }: ChatHistory,
): void {
  if (before.fold.run !== undefined) {
    const message = `Cannot answer again in chat ${id}: an answer goes on. Interrupt task ${task} first, or resume its stream`;
    throw new ServerError('bad_state', message, { task });
  }
  if (last === text) return;
  const message = `Cannot answer that again in chat ${id}: it is not the last that was said there. Send it as a message`;
  throw new ServerError('bad_state', message, { task });
}

function messageChanged({ id, taskId: task }: Chat): ServerError {
  const message = `Cannot change what was said in chat ${id}: its task keeps it. Send it as a message with an id of its own`;
  return new ServerError('conflict', message, { task });
}

/** The same key again gives the answer that there is, which the log knows. */
async function sendToSync(
  { taskId: task_id, agentId }: Chat,
  { key, content, before, isKnown }: OutgoingMessage,
  { service, trace }: RouteContext,
): Promise<AnswerStream> {
  // It resolves when the run has begun, which goes on whether or not anybody reads it.
  const { run } = await service.tasks.sendMessage(agentId, { task_id, content }, { key, trace });
  return {
    from: isKnown ? emptyChat(task_id) : before,
    isStart: ({ record: { fact } }) => fact?.type === 'run_started' && fact.runId === run,
  };
}

/** To an agent loop or an async agent, for which it is a command on the log. The same key again changes nothing. */
async function sendToQueue(
  chat: Chat,
  { key, content, before }: OutgoingMessage,
  { service, trace }: RouteContext,
): Promise<AnswerStream> {
  const { taskId: task_id, agentId } = chat;
  const body = { task_id, content };
  const { sequence_id } = await service.tasks.sendEvent(agentId, body, { key, trace });
  const isNew = sequence_id > before.through;
  return {
    from: isNew ? before : emptyChat(task_id),
    isStart: (step) => isAnswerStart(chat, sequence_id, step),
  };
}

/**
 * An agent loop takes the message when its run, or the one before it, gets there; an async agent has
 * handled it when it is taken off, so that its run is the one which begins when it is the next.
 */
function isAnswerStart(
  { kind, taskId }: Chat,
  offset: number,
  { record, before }: ChatStep,
): boolean {
  const { fact } = record;
  const own = before.queue.find((command) => command.offset === offset);
  if (own === undefined) return false;
  if (fact?.type === 'run_finished') assertContinues(taskId, fact.stop.reason);
  return kind === 'loop'
    ? fact?.type === 'command_consumed' && fact.key === own.key
    : fact?.type === 'run_started' && before.queue[0] === own;
}

/** After an end like these, what waits is not looked at before something else is said. */
function assertContinues(taskId: string, reason: string): void {
  if (!['aborted', 'error', 'limit', 'parked'].includes(reason)) return;
  const message = `Cannot answer in task ${taskId} now: the run before it ended (${reason}). The message waits, and is answered with the next one`;
  throw new ServerError('bad_state', message, { task: taskId }, { details: { stop: reason } });
}

/** A message on its way to an agent. */
interface OutgoingMessage {
  readonly content: Content;
  /** Undefined where it counts each time. */
  readonly key: string | undefined;
  /** It was sent with that key before. */
  readonly isKnown: boolean;
  /** The chat before it. */
  readonly before: ChatState;
}

/** What the last person said. */
function lastUserItem({ items }: FoldState): ItemState | undefined {
  return toArray(items).findLast(({ kind }) => kind === 'user');
}

/** What was said to a sync agent with that key. */
function itemWithKey({ items }: FoldState, key: string): ItemState | undefined {
  return toArray(items).find(({ metadata }) => metadata?.['key'] === key);
}

function textOfItem(item: ItemState | undefined): string | undefined {
  const texts = item?.parts.flatMap(({ part }) => (part?.kind === 'text' ? part.text : []));
  return texts?.join('\n');
}

/** The words of a message or an event that is, or was, in a queue; undefined where it has none. */
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
