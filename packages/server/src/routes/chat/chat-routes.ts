import { type FoldState, type ItemState, toArray } from '@millrace/core';
import { isStepItem, messageId, restateMessage } from '@millrace/core/streams';
import { z } from 'zod';
import { Reply, type Route, type RouteContext, route } from '../../http/route.ts';
import { partsOfChunks, type UiMessage } from '../../ui/ui-message.ts';
import { answerApprovals } from './answer-approvals.ts';
import {
  chatBodySchema,
  chatIdParams,
  chatMessageSchema,
  chatParams,
  readChatInput,
} from './chat-body.ts';
import { emptyChat, readChat } from './chat-state.ts';
import { type Chat, findChat, openChat, requireChat } from './chat-task.ts';
import { sendChatMessage } from './send-message.ts';
import { type AnswerStream, streamAnswer } from './stream-answer.ts';

const reply = z.string();
const replyType = 'text/event-stream';

/**
 * Routes for the AI SDK's `useChat`. They have the paths that its default transport uses: `useChat({ id,
 * resume: true, transport: new DefaultChatTransport({ api: '/agents/name/helper/chat' }) })`.
 *
 * - The chat id is the name of its task. The first message creates the task.
 * - If the id of a message was used before, the existing answer is returned. A changed message with the
 *   same id is rejected.
 * - `GET /agents/name/helper/chat/{id}` returns all messages for `useChat({ messages })`. Use it after a
 *   reload, or if the answer finished while the connection was lost.
 * - A disconnect does not stop the agent. To stop it, send `{ "type": "abort" }` to
 *   `/tasks/{task_id}/commands`, or send `task/interrupt`. The open streams then report the abort.
 * - `regenerate` sends the last message again. The task keeps both answers, and the agent sees the first
 *   one.
 * - The stream ends when calls wait for tools that the page runs. `addToolOutput` continues it if the chat
 *   has `sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls`.
 * - The stream ends when calls wait for an approval. `addToolApprovalResponse` continues it if the chat has
 *   `sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses`.
 */
export const chatRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/agents/name/{agent_name}/chat',
    summary:
      "Send a message, answers to approvals or outputs of tools from the AI SDK's useChat. The chat id is the name of the task. Returns a UI message stream. A disconnect does not stop the agent",
    params: chatParams,
    body: chatBodySchema,
    reply,
    replyType,
    async handle({ params, body }, context) {
      const input = readChatInput(body);
      const isNew = input.kind === 'message' && !input.isRegenerate;
      const name = { agentName: params.agent_name, chatId: body.id };
      const chat = await (isNew ? openChat(name, context) : requireChat(name, context));
      const answer =
        input.kind === 'answers'
          ? await answerApprovals(chat, input, context)
          : await sendChatMessage(chat, input, context);
      return streamAnswer(answer, context);
    },
  }),
  route({
    method: 'GET',
    path: '/agents/name/{agent_name}/chat/{chat_id}',
    summary: 'List all messages of a chat in the format of useChat. Empty for an unknown chat',
    params: chatIdParams,
    reply: z.object({ messages: z.array(chatMessageSchema) }),
    async handle({ params }, context) {
      const name = { agentName: params.agent_name, chatId: params.chat_id };
      const chat = await findChat(name, context);
      if (chat === undefined) return { messages: [] };
      const { fold } = await readChat(context.log, emptyChat(chat.taskId));
      return { messages: chatMessages(fold) };
    },
  }),
  route({
    method: 'GET',
    path: '/agents/name/{agent_name}/chat/{chat_id}/stream',
    summary:
      'Resume the current message of a chat from its start, for useChat. 204 if no message is active',
    params: chatIdParams,
    reply,
    replyType,
    async handle({ params }, context) {
      const chat = await findChat(
        { agentName: params.agent_name, chatId: params.chat_id },
        context,
      );
      const answer = chat && (await resumeChat(chat, context));
      return answer ? streamAnswer(answer, context) : new Reply(undefined, { status: 204 });
    },
  }),
];

/**
 * Streams the current message from its start, even if it waits for an approval. Returns undefined if no
 * message is open.
 */
async function resumeChat(
  { taskId }: Chat,
  { log }: RouteContext,
): Promise<AnswerStream | undefined> {
  const from = await readChat(log, emptyChat(taskId));
  return from.fold.run === undefined ? undefined : { from, opening: restateMessage(from.fold) };
}

/** Returns all messages of a chat. A message that the user sent during an answer is part of that answer. */
function chatMessages(fold: FoldState): readonly UiMessage[] {
  const begun = new Set<ItemState['run']>();
  return toArray(fold.items).flatMap((item): readonly UiMessage[] => {
    const { run } = item;
    if (run !== undefined && begun.has(run)) return [];
    if (isStepItem(item) && run !== undefined) {
      begun.add(run);
      return [answerOf({ ...fold, run })];
    }
    const parts = item.parts.flatMap(({ part }) =>
      part?.kind === 'text' ? { type: 'text', text: part.text } : [],
    );
    return item.kind === 'user' && parts.length > 0 ? [{ id: item.id, role: 'user', parts }] : [];
  });
}

/** Returns the message of a run, in the same form for finished and open runs. */
function answerOf(fold: FoldState): UiMessage {
  return { id: messageId(fold), role: 'assistant', parts: partsOfChunks(restateMessage(fold)) };
}
