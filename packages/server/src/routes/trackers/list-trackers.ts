import { z } from 'zod';
import { trackerSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { listQuery, listReply, pageOf } from '../list-query.ts';

export const listTrackers = route({
  method: 'GET',
  path: '/tracker',
  summary: 'Up to where agents have dealt with the events of tasks',
  query: z.object({
    agent_id: z.string().optional(),
    task_id: z.string().optional(),
    ...listQuery,
  }),
  reply: z.array(trackerSchema),
  async handle({ query }, { service }) {
    const of = { taskId: query.task_id, agentId: query.agent_id };
    return listReply(await service.trackers.list({ ...pageOf(query), ...of }));
  },
});
