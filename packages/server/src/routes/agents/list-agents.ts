import { z } from 'zod';
import { agentInfoSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { listQuery, listReply, pageOf } from '../list-query.ts';

export const listAgents = route({
  method: 'GET',
  path: '/agents',
  summary: 'Lists agents: all that are not deleted, or those of a task',
  query: z.object({ task_id: z.string().optional(), ...listQuery }),
  reply: z.array(agentInfoSchema),
  async handle({ query }, { service }) {
    return listReply(await service.agents.list({ ...pageOf(query), taskId: query.task_id }));
  },
});
