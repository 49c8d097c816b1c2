import { readUIMessages } from '@millrace/agent';
import { DeniedCalls, restateMessage } from '@millrace/core/streams';
import { z } from 'zod';
import { uiChunkSchema } from '../../contract/stream-schemas.ts';
import { Reply, type Route, type RouteContext, route } from '../../http/route.ts';
import { answerApprovals } from './answer-approvals.ts';
import {
  chatBodySchema,
  chatIdParams,
  chatMessageSchema,
  chatParams,
  readChatInput,
} from './chat-body.ts';
import { readChatNear } from './chat-state.ts';
import { type Chat, findChat, openChat, requireChat } from './chat-task.ts';
import { sendChatMessage } from './send-message.ts';
import { type AnswerStream, streamAnswer } from './stream-answer.ts';

const reply = uiChunkSchema;
const replyType = 'text/event-stream';

/**
 * Routes for the AI SDK's `useChat`. Their paths match its default transport: `useChat({ id, resume: true,
 * transport: new DefaultChatTransport({ api: '/agents/name/helper/chat' }) })`.
 *
 * - The chat id is the name of its task. The first message creates the task.
 * - If the id of a message was used before, the existing answer is returned. A changed message with the
 *   same id is rejected.
 * - `GET /agents/name/helper/chat/{id}` returns all messages for `useChat({ messages })`. Use it after a
 *   reload, or if the answer finished while the connection was lost.
 * - A disconnect does not stop the agent. To stop it, send `{ "type": "abort" }` to
 *   `/tasks/{task_id}/commands`, or send `task/interrupt`. The open streams then report the abort.
 * - `regenerate` sends the last message again. The task keeps both answers, and the agent still
 *   sees the first answer. The list of messages has only the last answer.
 * - A message to an agent loop can have files, as data URLs. Pictures and files of tool results are parts of
 *   the answer. The progress of a tool is sent as `data-tool-progress`, which `onData` receives.
 * - The stream ends when calls wait for tools that the client runs. `addToolOutput` continues it if the chat
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
      return { messages: chat ? await readUIMessages(context.log, chat.taskId) : [] };
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
 * Streams the current message from its start, even if the message waits for an approval. Returns undefined if
 * no message is open. It reads only the current message.
 */
async function resumeChat(
  { taskId }: Chat,
  { log }: RouteContext,
): Promise<AnswerStream | undefined> {
  const denied = new DeniedCalls();
  const from = await readChatNear(log, taskId, ({ record }) => denied.add(record));
  const opening = restateMessage(from.fold);
  return from.fold.run === undefined ? undefined : { from, opening, denied };
}
