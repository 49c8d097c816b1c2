import type { RunId } from '@millrace/core';
import type { RouteContext } from '../../http/route.ts';
import { ServerError } from '../../http/server-error.ts';
import type { Chat } from './chat-task.ts';
import { type ChatState, emptyChat, readChat } from './fold-chat.ts';
import { lastSaid, textOfItem } from './said-texts.ts';
import type { Sending } from './sending.ts';
import { sentTo } from './sent-messages.ts';
import type { Telling } from './tell-chat.ts';

/** The same key again gives the answer that there is. */
export async function sendToSync(
  chat: Chat,
  sending: Sending,
  context: RouteContext,
): Promise<Telling> {
  const { key, text, before } = sending;
  const sent = sentTo(context.log);
  const known = key === undefined ? undefined : sent.get(chat.taskId, key);
  const run = known?.run ?? send(chat, sending, context);
  if (known === undefined && key !== undefined) sent.add(chat.taskId, key, { text, run });
  const own = await run;
  return {
    from: known === undefined ? before : emptyChat(chat.taskId),
    begins: ({ record: { fact } }) => fact?.type === 'run_started' && fact.runId === own,
  };
}

async function send(
  { taskId: task_id, agentId }: Chat,
  { content, text, before }: Sending,
  { service, log }: RouteContext,
): Promise<RunId> {
  // It resolves when the run has begun, which goes on whether or not anybody reads it.
  await service.tasks.sendMessage(agentId, { task_id, content });
  let found: RunId | undefined;
  await readChat(log, before, ({ record: { fact }, before: { fold } }) => {
    if (fact?.type === 'run_started' && isAnswerTo(text, fold, before)) found ??= fact.runId;
  });
  if (found !== undefined) return found;
  const message = `Cannot find the answer in task ${task_id}, which has begun. Read its messages`;
  throw new ServerError('internal', message, { task: task_id });
}

/** A message and the run that answers it follow each other. */
function isAnswerTo(text: string, fold: ChatState['fold'], before: ChatState): boolean {
  const said = lastSaid(fold);
  return said?.id !== lastSaid(before.fold)?.id && textOfItem(said) === text;
}
