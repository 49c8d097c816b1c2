import { z } from 'zod';
import { taskEventSchema } from '../contract/task.ts';
import { type Route, route } from '../http/route.ts';
import { eventIdParams } from './route-schemas.ts';

export const eventRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/events',
    summary: 'List the events of a task in order, all or those after a given event',
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
  }),
  route({
    method: 'GET',
    path: '/events/{event_id}',
    summary: 'Get an event',
    params: eventIdParams,
    reply: taskEventSchema,
    handle: ({ params }, { service }) => service.events.get(params.event_id),
  }),
];
