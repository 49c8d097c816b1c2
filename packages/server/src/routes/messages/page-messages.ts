import { z } from 'zod';
import { taskMessageSchema } from '../../contract/message.ts';
import { route } from '../../http/route.ts';
import { filtersOf, filtersQuery } from './filters-query.ts';

export const pageMessages = route({
  method: 'GET',
  path: '/messages/paginated',
  summary: 'The messages of a task, page by page, to older or to newer ones',
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
    const asked = { taskId, limit, cursor, direction, filters: filtersOf(query) };
    const { data, next } = await service.messages.page(asked);
    return { data, next_cursor: next, has_more: next !== null };
  },
});
