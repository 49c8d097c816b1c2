import type { RouteContext } from '../../http/route.ts';
import type { Chat } from './chat-task.ts';
import { emptyChat } from './fold-chat.ts';
import type { Sending } from './sending.ts';
import type { Telling } from './tell-chat.ts';

/** The same key again gives the answer that there is, which the log knows. */
export async function sendToSync(
  { taskId: task_id, agentId }: Chat,
  { key, content, before, isKnown }: Sending,
  { service, trace }: RouteContext,
): Promise<Telling> {
  // It resolves when the run has begun, which goes on whether or not anybody reads it.
  const { run } = await service.tasks.sendMessage(agentId, { task_id, content }, { key, trace });
  return {
    from: isKnown ? emptyChat(task_id) : before,
    begins: ({ record: { fact } }) => fact?.type === 'run_started' && fact.runId === run,
  };
}
