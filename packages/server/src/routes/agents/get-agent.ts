import { agentInfoSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { agentIdParams, agentNameParams } from '../path-params.ts';

export const getAgent = [
  route({
    method: 'GET',
    path: '/agents/{agent_id}',
    summary: 'An agent by its id',
    params: agentIdParams,
    reply: agentInfoSchema,
    handle: ({ params }, { service }) => service.agents.get({ id: params.agent_id }),
  }),
  route({
    method: 'GET',
    path: '/agents/name/{agent_name}',
    summary: 'An agent by its name',
    params: agentNameParams,
    reply: agentInfoSchema,
    handle: ({ params }, { service }) => service.agents.get({ name: params.agent_name }),
  }),
];
