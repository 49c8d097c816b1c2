import { z } from 'zod';
import { taskMessageSchema } from '../../contract/message.ts';
import { route } from '../../http/route.ts';
import { listQuery, listReply, pageOf } from '../list-query.ts';
import { filtersOf, filtersQuery } from './filters-query.ts';

export const listMessages = route({
  method: 'GET',
  path: '/messages',
  summary: 'The messages of a task, the newest first',
  query: z.object({ task_id: z.string().min(1), ...filtersQuery, ...listQuery }),
  reply: z.array(taskMessageSchema),
  async handle({ query }, { service }) {
    const page = pageOf(query, 'created_at');
    const filters = filtersOf(query);
    return listReply(await service.messages.list({ ...page, taskId: query.task_id, filters }));
  },
});
