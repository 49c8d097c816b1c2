import { type FoldState, type ItemState, toArray } from '@millrace/core';
import { z } from 'zod';
import { Reply, type Route, type RouteContext, route } from '../../http/route.ts';
import { messageId, restateMessage } from '../../ui/record-chunks.ts';
import { isStepItem } from '../../ui/step-chunks.ts';
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
 * What the AI SDK's `useChat` asks for, where its own transport looks:
 * `useChat({ id, resume: true, transport: new DefaultChatTransport({ api: '/agents/name/helper/chat' }) })`.
 *
 * - The chat's id is the name of its task, which is made with the first message.
 * - A message that is sent again, by its id, gives the answer that there is; one that is changed is refused.
 * - What was said is at `/agents/name/helper/chat/{id}`, for `useChat({ messages })`: after a reload, and
 *   where a connection was lost and the answer has ended since.
 * - Leaving stops nothing. To stop, send `{ "type": "abort" }` to `/tasks/{task_id}/commands`, or
 *   `task/interrupt`: whoever reads the answer is told that it was stopped.
 * - `regenerate` says the last message again: the task keeps both answers, and the agent knows the first.
 * - Where calls wait for an approval, the stream ends; `addToolApprovalResponse` goes on with it, given
 *   `sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses`.
 */
export const chatRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/agents/name/{agent_name}/chat',
    summary:
      "What the AI SDK's useChat sends: a message, or answers to approvals; the chat's id is the task's name. Answers with its message stream, which may be left: that stops nothing",
    params: chatParams,
    body: chatBodySchema,
    reply,
    replyType,
    async handle({ params, body }, context) {
      const news = readChatInput(body);
      const isNew = news.kind === 'message' && !news.isAgain;
      const name = { agentName: params.agent_name, chatId: body.id };
      const chat = await (isNew ? openChat(name, context) : requireChat(name, context));
      const telling =
        news.kind === 'rulings'
          ? await answerApprovals(chat, news, context)
          : await sendChatMessage(chat, news, context);
      return streamAnswer(telling, context);
    },
  }),
  route({
    method: 'GET',
    path: '/agents/name/{agent_name}/chat/{chat_id}',
    summary: 'All messages of a chat as useChat takes them; none where nothing was said in it',
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
      'The message of a chat that goes on, from its start, for a useChat that resumes; 204 where none does',
    params: chatIdParams,
    reply,
    replyType,
    async handle({ params }, context) {
      const chat = await findChat(
        { agentName: params.agent_name, chatId: params.chat_id },
        context,
      );
      const telling = chat && (await resumeChat(chat, context));
      return telling ? streamAnswer(telling, context) : new Reply(undefined, { status: 204 });
    },
  }),
];

/** The message that goes on, from its start; also one that waits for an approval. Undefined where none does. */
async function resumeChat(
  { taskId }: Chat,
  { log }: RouteContext,
): Promise<AnswerStream | undefined> {
  const from = await readChat(log, emptyChat(taskId));
  return from.fold.run === undefined ? undefined : { from, opening: restateMessage(from.fold) };
}

/** All that was said in a chat. What a person said while an answer went on is part of that. */
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

/** Of whichever run, told as if it went on. */
function answerOf(fold: FoldState): UiMessage {
  return { id: messageId(fold), role: 'assistant', parts: partsOfChunks(restateMessage(fold)) };
}
