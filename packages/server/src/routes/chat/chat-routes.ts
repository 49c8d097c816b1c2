import { setImmediate as nextTurn } from 'node:timers/promises';
import { readUIMessages } from '@millrace/agent';
import { DeniedCalls, restateMessage, type UiMessage } from '@millrace/core/streams';
import { type Log, snapshot } from '@millrace/log';
import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';
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
import { type AnswerStream, type LeftAnswer, streamAnswer } from './stream-answer.ts';

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
 * - A disconnect does not stop the agent, unless the request has the header `millrace-on-close: stop`. With
 *   this header, `stop()` of `useChat` stops the answer.
 * - `POST /agents/name/helper/chat/{id}/stop` stops the answer too. The open streams then report the abort.
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
    headers: ['millrace-on-close'],
    body: chatBodySchema,
    reply,
    replyType,
    async handle({ params, body }, context) {
      const stops = stopsOnClose(context);
      const input = readChatInput(body);
      const isNew = input.kind === 'message' && !input.isRegenerate;
      const name = { agentName: params.agent_name, chatId: body.id };
      const chat = await (isNew ? openChat(name, context) : requireChat(name, context));
      const answer =
        input.kind === 'answers'
          ? await answerApprovals(chat, input, context)
          : await sendChatMessage(chat, input, context);
      return streamAnswer(answer, stops ? stopping(chat, answer, context) : {}, context);
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
      return context.inTurn(
        async () => ({ messages: await readMessages(chat, context) }),
        'refuse',
      );
    },
  }),
  route({
    method: 'GET',
    path: '/agents/name/{agent_name}/chat/{chat_id}/stream',
    summary:
      'Resume the current message of a chat from its start, for useChat. 204 if no message is active',
    params: chatIdParams,
    headers: ['millrace-on-close'],
    reply,
    replyType,
    async handle({ params }, context) {
      const stops = stopsOnClose(context);
      const chat = await findChat(
        { agentName: params.agent_name, chatId: params.chat_id },
        context,
      );
      const answer = chat && (await context.inTurn(() => resumeChat(chat, context), 'refuse'));
      if (chat === undefined || answer === undefined) return new Reply(undefined, { status: 204 });
      return streamAnswer(answer, stops ? stopping(chat, answer, context) : {}, context);
    },
  }),
  route({
    method: 'POST',
    path: '/agents/name/{agent_name}/chat/{chat_id}/stop',
    summary: 'Stop the answer of a chat. All open streams of the chat end',
    params: chatIdParams,
    reply: z.object({ stopped: z.boolean().describe('False if no answer was active') }),
    async handle({ params }, context) {
      const name = { agentName: params.agent_name, chatId: params.chat_id };
      const chat = await requireChat(name, context);
      const { run, asked, awaited } = await snapshot(context.log, chat.taskId);
      if (run === undefined && asked.length === 0 && awaited.length === 0)
        return { stopped: false };
      await stopAnswer(chat, context);
      return { stopped: true };
    },
  }),
];

/** Reads the messages of a chat. The server answers other requests between two pages of the log. */
function readMessages({ taskId }: Chat, { log }: RouteContext): Promise<UiMessage[]> {
  const paced: Pick<Log, 'info' | 'read'> = {
    info: (session) => log.info(session),
    async read(session, options) {
      await nextTurn();
      return log.read(session, options);
    },
  };
  return readUIMessages(paced, taskId);
}

/** Reads whether a closed connection stops the answer. `useChat` sends the same headers with each request. */
function stopsOnClose({ headers, grant }: RouteContext): boolean {
  const value = headers['millrace-on-close'];
  if (value === undefined || value === 'continue') return false;
  if (value !== 'stop')
    throw new ServerError('invalid', 'Cannot use this millrace-on-close. Send continue or stop');
  // GET is allowed for tokens that can only read.
  if (!grant.isReadOnly) return true;
  const message =
    'Cannot stop answers with this token: it can only read. Leave out millrace-on-close';
  throw new ServerError('forbidden', message);
}

/** Stops an answer whose client has left. A message that still waits behind another answer is withdrawn. */
function stopping(chat: Chat, { key }: AnswerStream, context: RouteContext) {
  const { service, trace } = context;
  return {
    onLeave: async ({ isStarted }: LeftAnswer) => {
      if (isStarted) await stopAnswer(chat, context);
      else if (key !== undefined && chat.kind === 'loop')
        await service.tasks.submit(chat.taskId, { type: 'withdraw', key }, { trace });
    },
  };
}

async function stopAnswer({ taskId, kind }: Chat, { service, trace }: RouteContext): Promise<void> {
  const reason = 'The client stopped the answer';
  if (kind !== 'loop') await service.tasks.change(taskId, 'interrupt', reason);
  else await service.tasks.submit(taskId, { type: 'abort', reason }, { trace });
}

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
