import { z } from 'zod';
import { taskStateSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { listQuery, listReply, pageOf } from '../list-query.ts';

export const listStates = route({
  method: 'GET',
  path: '/states',
  summary: 'What agents keep for tasks',
  query: z.object({
    task_id: z.string().optional(),
    agent_id: z.string().optional(),
    ...listQuery,
  }),
  reply: z.array(taskStateSchema),
  async handle({ query }, { service }) {
    const of = { taskId: query.task_id, agentId: query.agent_id };
    return listReply(await service.states.list({ ...pageOf(query), ...of }));
  },
});
