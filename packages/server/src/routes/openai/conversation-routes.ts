import { isId, sessionId } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';
import type { TaskResponse } from '../../contract/task.ts';
import { type Route, type RouteContext, route } from '../../http/route.ts';
import { ensureSession } from '../../journal/session-lease.ts';
import { conversationItems } from './conversation-items.ts';
import { refused } from './input-items.ts';
import { isOffered } from './open-response.ts';
import { notFound } from './openai-error.ts';
import type { OutputItem } from './response-resource.ts';
import { newestStart, responseId } from './response-starts.ts';

const params = z.object({ conversation_id: z.string().min(1).max(512) });

/** The query of a list of items. */
export const itemQuery = z.object({
  limit: z.int().min(1).max(100).optional().describe('Items per page. Default: 20'),
  order: z.enum(['asc', 'desc']).optional().describe('Default: `desc`, the newest item first'),
  after: z.string().max(512).optional().describe('The id of the last item of the page before'),
  include: z.array(z.string()).optional().describe('Additional content. It is ignored'),
});

/** One page of a list of items. */
export const itemListSchema = z.object({
  object: z.literal('list'),
  data: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

/** Returns one page of the items, which are in the order of the session. */
export function itemPage(
  items: readonly OutputItem[],
  { limit = 20, order = 'desc', after }: z.output<typeof itemQuery>,
): z.output<typeof itemListSchema> {
  const ordered = order === 'asc' ? items : items.toReversed();
  const at = after === undefined ? -1 : ordered.findIndex((item) => item.id === after);
  if (after !== undefined && at < 0) throw refused('after', 'the list has no such item');
  const data = ordered.slice(at + 1, at + 1 + limit);
  const [first, last] = [data[0], data.at(-1)];
  return {
    ...{ object: 'list', data: [...data] },
    ...{ first_id: first?.id ?? null, last_id: last?.id ?? null },
    has_more: at + 1 + limit < ordered.length,
  };
}

/**
 * Routes of the Conversations API that read a session. A conversation is a task, even if a page, a terminal
 * or an editor created it.
 */
export const conversationRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/conversations/{conversation_id}',
    summary:
      'Get a session as a conversation of OpenAI. Its metadata contains the id of its newest response (`last_response_id`), which every client of the session can follow and cancel',
    params,
    reply: z.object({
      id: z.string(),
      object: z.literal('conversation'),
      created_at: z.int(),
      metadata: z.record(z.string(), z.string()),
    }),
    async handle({ params: { conversation_id: id } }, context) {
      const { id: taskId, created_at } = await findConversation(id, context);
      const newest = await context.inTurn(() => newestStart(taskId, context.log), 'refuse');
      const last = newest && responseId({ taskId, offset: newest.offset });
      return {
        ...{ id: taskId, object: 'conversation' },
        created_at: Math.floor(Date.parse(created_at ?? '') / 1000) || 0,
        metadata: last === undefined ? {} : { last_response_id: last },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/conversations/{conversation_id}/items',
    summary: 'List the items of a session in the format of OpenAI: messages, reasoning and calls',
    params,
    query: itemQuery,
    reply: itemListSchema,
    async handle({ params: { conversation_id: id }, query }, context) {
      const task = await findConversation(id, context);
      return context.inTurn(async () => {
        const state = await snapshot(context.log, task.id);
        return itemPage(conversationItems(state, task.agents?.[0]?.name ?? 'agent'), query);
      }, 'refuse');
    },
  }),
];

async function findConversation(id: string, { service, log }: RouteContext): Promise<TaskResponse> {
  const missing = () => notFound('Conversation', id, 'conversation_id');
  if (!isId(id)) throw missing();
  const task = await service.tasks.get({ id }).catch((error: unknown) => {
    throw error instanceof ServerError && error.code === 'not_found' ? missing() : error;
  });
  if (!task.agents?.some(isOffered)) throw missing();
  await ensureSession(log, sessionId(task.id));
  return task;
}
