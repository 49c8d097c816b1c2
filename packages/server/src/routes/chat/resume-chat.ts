import type { RouteContext } from '../../http/route.ts';
import { uiRestatement } from '../../ui/ui-chunks.ts';
import type { Chat } from './chat-task.ts';
import { emptyChat, readChat } from './fold-chat.ts';
import type { Telling } from './tell-chat.ts';

/** The message that goes on, from its start; also one that waits for an approval. Undefined where none does. */
export async function resumeChat(
  { taskId }: Chat,
  { log }: RouteContext,
): Promise<Telling | undefined> {
  const from = await readChat(log, emptyChat(taskId));
  return from.fold.run === undefined ? undefined : { from, opening: uiRestatement(from.fold) };
}
