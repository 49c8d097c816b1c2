import { sessionId } from '@millrace/core';
import { type UiMessage, UiMessages } from '@millrace/core/streams';
import type { Log } from '@millrace/log';
import { AgentError } from '../contract/agent-error.ts';

/**
 * Reads a stored session as the messages of the AI SDK, for `useChat({ messages })` after a page was
 * loaded again. They are the messages that `useChat` has after it read the streams of
 * `run.toUIMessageStreamResponse()`, with the same ids. The result is assignable to `UIMessage[]`.
 *
 * - A message that the user sent during an answer is a part of that answer, and a call that waits for
 *   an approval has its question.
 * - A message that is still queued comes last, for example one that was sent while a call waits. When a
 *   run takes the message, it is at its place in the conversation.
 * - If a run is open, its message has what is on the log so far.
 * - A session that does not exist has no messages.
 *
 * The function does not check who may read the session: do this before you call it.
 *
 * @example const messages = await readUIMessages(log, 'chat-1'); // useChat({ id: 'chat-1', messages })
 */
export async function readUIMessages(log: Log, session: string): Promise<UiMessage[]> {
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
