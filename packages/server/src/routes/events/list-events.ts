import { z } from 'zod';
import { taskEventSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';

export const listEvents = route({
  method: 'GET',
  path: '/events',
  summary: 'The events of a task in their order, all or those after one',
  query: z.object({
    task_id: z.string().min(1),
    agent_id: z.string().min(1),
    last_processed_event_id: z.string().optional(),
    limit: z.int().min(1).max(1000).optional(),
  }),
  reply: z.array(taskEventSchema),
  handle: ({ query }, { service }) =>
    service.events.list({
      taskId: query.task_id,
      agentId: query.agent_id,
      after: query.last_processed_event_id,
      limit: query.limit,
    }),
});
