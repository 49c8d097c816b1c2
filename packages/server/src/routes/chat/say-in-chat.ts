import { contentSchema } from '../../contract/content.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { RouteContext } from '../../http/route.ts';
import type { ChatNews } from './chat-body.ts';
import type { Chat } from './chat-task.ts';
import { type ChatState, emptyChat, readChat } from './fold-chat.ts';
import { lastSaid, saidWith, textOfCommand, textOfItem } from './said-texts.ts';
import { sendToQueue } from './send-to-queue.ts';
import { sendToSync } from './send-to-sync.ts';
import type { Telling } from './tell-chat.ts';

type Message = Extract<ChatNews, { readonly kind: 'message' }>;

/** Sends what a person said, each message once, and gives the answer to it. */
export async function sayInChat(
  chat: Chat,
  { id, text, isAgain }: Message,
  context: RouteContext,
): Promise<Telling> {
  const key = isAgain || id === undefined ? undefined : `chat:${id}`;
  const said = await readSaid(chat, key, context);
  if (said.known === undefined) assertFree(chat, said.before);
  else if (said.known !== text) throw changed(chat);
  if (isAgain) assertLast(chat, text, said);
  const content = contentSchema.parse({ type: 'text', author: 'user', content: text });
  const isKnown = said.known !== undefined;
  const sending = { content, key, isKnown, before: said.before };
  return chat.kind === 'sync'
    ? sendToSync(chat, sending, context)
    : sendToQueue(chat, sending, context);
}

interface Said {
  readonly before: ChatState;
  /** What was said under that key before. */
  readonly known: string | undefined;
  /** What was said last. */
  readonly last: string | undefined;
}

async function readSaid(
  { taskId, kind }: Chat,
  key: string | undefined,
  { log }: RouteContext,
): Promise<Said> {
  let known: string | undefined;
  let queued: string | undefined;
  const before = await readChat(log, emptyChat(taskId), ({ record: { fact } }) => {
    if (fact?.type !== 'command_queued') return;
    const text = textOfCommand(fact.command);
    queued = text ?? queued;
    if (key !== undefined && fact.key === `event:${key}`) known = text;
  });
  if (key !== undefined) known ??= textOfItem(saidWith(before.fold, key));
  const last = kind === 'async' ? queued : textOfItem(lastSaid(before.fold));
  return { before, known, last };
}

/** Whoever is asked something answers that first: what comes meanwhile would wait for it unseen. */
function assertFree({ id, taskId: task }: Chat, { fold }: ChatState): void {
  if (fold.asked.length === 0) return;
  const calls = fold.asked.map(({ toolCallId }) => toolCallId).join(', ');
  const message = `Cannot send a message to chat ${id} now: calls wait for an approval (${calls}). Answer it, or interrupt task ${task}`;
  throw new ServerError('bad_state', message, { task });
}

/** The task keeps all that was said, so that only the end of it can be gone on with. */
function assertLast({ id, taskId: task }: Chat, text: string, { before, last }: Said): void {
  if (before.fold.run !== undefined) {
    const message = `Cannot answer again in chat ${id}: an answer goes on. Interrupt task ${task} first, or resume its stream`;
    throw new ServerError('bad_state', message, { task });
  }
  if (last === text) return;
  const message = `Cannot answer that again in chat ${id}: it is not the last that was said there. Send it as a message`;
  throw new ServerError('bad_state', message, { task });
}

function changed({ id, taskId: task }: Chat): ServerError {
  const message = `Cannot change what was said in chat ${id}: its task keeps it. Send it as a message with an id of its own`;
  return new ServerError('conflict', message, { task });
}
