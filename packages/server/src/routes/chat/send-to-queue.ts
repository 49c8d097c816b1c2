import { ServerError } from '../../contract/server-error.ts';
import type { RouteContext } from '../../http/route.ts';
import type { Chat } from './chat-task.ts';
import { type ChatStep, emptyChat } from './fold-chat.ts';
import type { Sending } from './sending.ts';
import type { Telling } from './tell-chat.ts';

/** To an agent loop or an async agent, for which it is a command on the log. The same key again changes nothing. */
export async function sendToQueue(
  chat: Chat,
  { key, content, before }: Sending,
  { service, trace }: RouteContext,
): Promise<Telling> {
  const { taskId: task_id, agentId } = chat;
  const body = { task_id, content };
  const { sequence_id } = await service.tasks.sendEvent(agentId, body, { key, trace });
  const isNew = sequence_id > before.through;
  return {
    from: isNew ? before : emptyChat(task_id),
    begins: (step) => begins(chat, sequence_id, step),
  };
}

/**
 * An agent loop takes the message when its run, or the one before it, gets there; an async agent has
 * handled it when it is taken off, so that its run is the one which begins when it is the next.
 */
function begins({ kind, taskId }: Chat, offset: number, { record, before }: ChatStep): boolean {
  const { fact } = record;
  const own = before.queue.find((command) => command.offset === offset);
  if (own === undefined) return false;
  if (fact?.type === 'run_finished') assertGoesOn(taskId, fact.stop.reason);
  return kind === 'loop'
    ? fact?.type === 'command_consumed' && fact.key === own.key
    : fact?.type === 'run_started' && before.queue[0] === own;
}

/** After an end like these, what waits is not looked at before something else is said. */
function assertGoesOn(taskId: string, reason: string): void {
  if (!['aborted', 'error', 'limit', 'parked'].includes(reason)) return;
  const message = `Cannot answer in task ${taskId} now: the run before it ended (${reason}). The message waits, and is answered with the next one`;
  throw new ServerError('bad_state', message, { task: taskId }, { details: { stop: reason } });
}
