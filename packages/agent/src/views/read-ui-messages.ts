import { sessionId } from '@millrace/core';
import { type UiMessage, UiMessages } from '@millrace/core/streams';
import type { Log } from '@millrace/log';
import { AgentError } from '../contract/agent-error.ts';

/**
 * Reads a stored session as the messages of the AI SDK, for `useChat({ messages })` after a page reload. The
 * messages and their ids are the same as those that `useChat` builds from the streams of
 * `run.toUIMessageStreamResponse()`. The result is assignable to `UIMessage[]`.
 *
 * - If the user sends a message during an answer, the message is a part of that answer. A call that waits for
 *   an approval contains the question.
 * - A message that is still queued comes last, for example a message that was sent while a call waits. After
 *   a run takes the message, it appears at its place in the conversation.
 * - If a run is open, its message contains the content that the log has until now.
 * - A session that does not exist has no messages.
 *
 * The function does not check access rights. Check them before you call it.
 *
 * @example const messages = await readUIMessages(log, 'chat-1'); // useChat({ id: 'chat-1', messages })
 */
export async function readUIMessages(
  log: Pick<Log, 'info' | 'read'>,
  session: string,
): Promise<UiMessage[]> {
  const id = sessionId(session);
  const info = await log.info(id);
  const messages = new UiMessages(id);
  if (info === undefined) return [];
  const { incarnation } = info;
  for (let isMore = true; isMore; ) {
    const from = messages.through;
    const page = await log.read(id, { from, incarnation });
    if (!messages.add(page)) throw notFoldable(session, from);
    isMore = messages.through > from;
  }
  return messages.list();
}

function notFoldable(session: string, offset: number): AgentError {
  const message = `Cannot read the messages of session ${session} after offset ${offset}: its records do not follow on from each other. Restore a backup`;
  return new AgentError('not_foldable', message, { session, offset });
}
