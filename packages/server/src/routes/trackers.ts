import { z } from 'zod';
import { updateTrackerSchema } from '../contract/request-bodies.ts';
import { trackerSchema } from '../contract/task.ts';
import { type Route, route } from '../http/route.ts';
import { listQuery, listReply, toPageQuery, trackerIdParams } from './route-schemas.ts';

export const trackerRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tracker',
    summary: 'List trackers: the last event of each task that an agent has processed',
    query: z.object({
      agent_id: z.string().optional(),
      task_id: z.string().optional(),
      ...listQuery,
    }),
    reply: z.array(trackerSchema),
    async handle({ query }, { service }) {
      const of = { taskId: query.task_id, agentId: query.agent_id };
      return listReply(await service.trackers.list({ ...toPageQuery(query), ...of }));
    },
  }),
  route({
    method: 'GET',
    path: '/tracker/{tracker_id}',
    summary: 'Get a tracker by its id or by the id of its task',
    params: trackerIdParams,
    reply: trackerSchema,
    handle: ({ params }, { service }) => service.trackers.get(params.tracker_id),
  }),
  route({
    method: 'PUT',
    path: '/tracker/{tracker_id}',
    summary: 'Update a tracker: set the last event that the agent has processed',
    params: trackerIdParams,
    body: updateTrackerSchema,
    reply: trackerSchema,
    handle: ({ params, body }, { service }) => service.trackers.update(params.tracker_id, body),
  }),
];
