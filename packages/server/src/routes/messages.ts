import { z } from 'zod';
import { taskMessageSchema } from '../contract/message.ts';
import {
  createMessageSchema,
  createMessagesSchema,
  type MessageFilter,
  messageFilterSchema,
  updateMessageSchema,
  updateMessagesSchema,
} from '../contract/request-bodies.ts';
import { type Route, route } from '../http/route.ts';
import { listQuery, listReply, messageIdParams, toPageQuery } from './route-schemas.ts';

const filters = z.union([messageFilterSchema, z.array(messageFilterSchema).max(32)]);

/** One filter or a list of filters, as JSON. */
const filtersQuery = { filters: filters.optional() };

export const messageRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/messages',
    runsInTurn: true,
    summary: 'List the messages of a task, newest first',
    query: z.object({ task_id: z.string().min(1), ...filtersQuery, ...listQuery }),
    reply: z.array(taskMessageSchema),
    async handle({ query }, { service }) {
      const page = toPageQuery(query, 'created_at');
      const filters = filtersOf(query);
      return listReply(await service.messages.list({ ...page, taskId: query.task_id, filters }));
    },
  }),
  route({
    method: 'GET',
    path: '/messages/paginated',
    runsInTurn: true,
    summary: 'Page through the messages of a task, to older or to newer ones',
    query: z.object({
      task_id: z.string().min(1),
      limit: z.int().min(1).max(1000).default(50),
      cursor: z.string().max(4096).optional(),
      direction: z.enum(['older', 'newer']).default('older'),
      ...filtersQuery,
    }),
    reply: z.object({
      data: z.array(taskMessageSchema),
      next_cursor: z.string().nullable(),
      has_more: z.boolean(),
    }),
    async handle({ query }, { service }) {
      const { task_id: taskId, limit, cursor, direction } = query;
      const pageQuery = { taskId, limit, cursor, direction, filters: filtersOf(query) };
      const { data, next } = await service.messages.page(pageQuery);
      return { data, next_cursor: next, has_more: next !== null };
    },
  }),
  route({
    method: 'GET',
    path: '/messages/{message_id}',
    runsInTurn: true,
    summary: 'Get a message',
    params: messageIdParams,
    reply: taskMessageSchema,
    handle: ({ params }, { service }) => service.messages.get(params.message_id),
  }),
  route({
    method: 'POST',
    path: '/messages',
    runsInTurn: true,
    summary: 'Add a message to a task. The agent does not answer it',
    body: createMessageSchema,
    reply: taskMessageSchema,
    handle: ({ body }, { service }) => service.messages.create(body),
  }),
  route({
    method: 'POST',
    path: '/messages/batch',
    runsInTurn: true,
    summary: 'Add several messages to a task, in order',
    body: createMessagesSchema,
    reply: z.array(taskMessageSchema),
    handle: ({ body }, { service }) => service.messages.createMany(body),
  }),
  route({
    method: 'PUT',
    path: '/messages/{message_id}',
    runsInTurn: true,
    summary: 'Replace the content of a message',
    params: messageIdParams,
    body: updateMessageSchema,
    reply: taskMessageSchema,
    handle: ({ params, body }, { service }) => service.messages.update(params.message_id, body),
  }),
  route({
    method: 'PUT',
    path: '/messages/batch',
    runsInTurn: true,
    summary: 'Replace the content of several messages of a task',
    body: updateMessagesSchema,
    reply: z.array(taskMessageSchema),
    handle: ({ body }, { service }) => service.messages.updateMany(body),
  }),
];

function filtersOf(query: {
  readonly filters?: z.output<typeof filters> | undefined;
}): readonly MessageFilter[] {
  return query.filters === undefined ? [] : [query.filters].flat();
}
