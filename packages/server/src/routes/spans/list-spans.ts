import { z } from 'zod';
import { spanSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { listQuery, listReply, pageOf } from '../list-query.ts';

export const listSpans = route({
  method: 'GET',
  path: '/spans',
  summary: 'The spans of a trace, of a task, or all',
  query: z.object({
    trace_id: z.string().optional(),
    task_id: z.string().optional(),
    ...listQuery,
  }),
  reply: z.array(spanSchema),
  async handle({ query }, { service }) {
    const of = { traceId: query.trace_id, taskId: query.task_id };
    return listReply(await service.spans.list({ ...pageOf(query), ...of }));
  },
});
