import { z } from 'zod';
import { pastRequestSchema } from '../../contract/inspection.ts';
import { route } from '../../http/route.ts';
import { taskIdParams } from '../path-params.ts';

const count = z.coerce.number().int().min(1).max(1_000_000);

export const getRequest = route({
  method: 'GET',
  path: '/tasks/{task_id}/request',
  summary:
    'What an agent loop asked its model in an attempt of a turn, made again from the log: without headers, and with notes on what may have changed since',
  params: taskIdParams,
  query: z.object({ turn: count, attempt: count.default(1) }),
  reply: pastRequestSchema,
  handle: ({ params, query }, { service }) => service.tasks.request(params.task_id, query),
});
