import { route } from '../../http/route.ts';
import { deletedSchema } from '../deleted-reply.ts';
import { agentIdParams, agentNameParams } from '../path-params.ts';

export const deleteAgent = [
  route({
    method: 'DELETE',
    path: '/agents/{agent_id}',
    summary: 'Deletes an agent; its tasks stay',
    params: agentIdParams,
    reply: deletedSchema,
    handle: ({ params }, { service }) => service.agents.delete(params.agent_id),
  }),
  route({
    method: 'DELETE',
    path: '/agents/name/{agent_name}',
    summary: 'Deletes an agent by its name; its tasks stay',
    params: agentNameParams,
    reply: deletedSchema,
    async handle({ params }, { service }) {
      const { id } = await service.agents.get({ name: params.agent_name });
      return service.agents.delete(id);
    },
  }),
];
