import { z } from 'zod';
import { Reply, type StreamReply } from '../../http/reply.ts';
import { type Route, type RouteContext, route } from '../../http/route.ts';
import { contentSchema } from '../../wire/content.ts';
import { taskIdParams } from '../path-params.ts';
import type { TaskService } from '../service.ts';
import { type ChatNews, chatBodySchema, newsIn, type Ruling } from './chat-body.ts';
import { stateBefore, toldRun } from './told-run.ts';

const replyType = 'text/event-stream';

/**
 * What `useChat` asks for, at the addresses where its own transport looks:
 * `useChat({ id: taskId, resume: true, transport: new DefaultChatTransport({ api: '/chat' }) })`.
 */
export const chatRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/chat',
    summary: "A message of the AI SDK's useChat, whose id is a task's; the answer as its stream",
    body: chatBodySchema,
    reply: z.string(),
    replyType,
    async handle({ body }, context) {
      const { id, agents } = await context.service.tasks.get({ id: body.id });
      const news = newsIn(body);
      const before = await stateBefore(context.log, id);
      const agent = agents?.[0];
      const isLoop = agent?.registration_metadata?.['kind'] === 'loop';
      await say(context.service, { id, agentId: agent?.id ?? '', acpType: agent?.acp_type }, news);
      return toldRun(before, isLoop ? 'going' : 'next', context);
    },
  }),
  route({
    method: 'GET',
    path: '/chat/{task_id}/stream',
    summary: 'The answer that goes on, from its start, for a useChat that resumes; 204 without one',
    params: taskIdParams,
    reply: z.string(),
    replyType,
    handle: ({ params }, context) => resume(params.task_id, context),
  }),
];

async function resume(taskId: string, context: RouteContext): Promise<StreamReply | Reply> {
  const { id } = await context.service.tasks.get({ id: taskId });
  const state = await stateBefore(context.log, id);
  if (state.run === undefined) return new Reply(undefined, { status: 204 });
  return toldRun(state, 'going', context);
}

interface Spoken {
  readonly id: string;
  readonly agentId: string;
  readonly acpType: string | undefined;
}

async function say({ tasks }: TaskService, task: Spoken, news: ChatNews): Promise<void> {
  if (news.kind === 'rulings') {
    for (const ruling of news.rulings) await tasks.submit(task.id, commandOf(ruling));
    return;
  }
  const content = contentSchema.parse(news.content);
  const body = { task_id: task.id, content };
  // Its answer is read from the log, and goes on whether or not anybody does.
  if (task.acpType === 'sync') await tasks.sendMessage(task.agentId, body);
  else await tasks.sendEvent(task.agentId, body, news.id && `chat:${news.id}`);
}

function commandOf({ callId, isApproved, reason }: Ruling) {
  const call = { tool_call_id: callId, by: 'chat' };
  return isApproved
    ? ({ type: 'approve', ...call } as const)
    : ({ type: 'deny', ...call, reason } as const);
}
