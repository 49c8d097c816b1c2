import { z } from 'zod';
import { registerAgentSchema, registerBuildSchema } from '../contract/request-bodies.ts';
import { agentInfoSchema } from '../contract/task.ts';
import { type Route, route } from '../http/route.ts';
import {
  agentIdParams,
  agentNameParams,
  deletedSchema,
  listQuery,
  listReply,
  toPageQuery,
} from './route-schemas.ts';

export const agentRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/agents',
    summary: 'List agents: all, or those of a task. Deleted agents are omitted',
    query: z.object({ task_id: z.string().optional(), ...listQuery }),
    reply: z.array(agentInfoSchema),
    async handle({ query }, { service }) {
      return listReply(await service.agents.list({ ...toPageQuery(query), taskId: query.task_id }));
    },
  }),
  route({
    method: 'GET',
    path: '/agents/{agent_id}',
    summary: 'Get an agent by its id',
    params: agentIdParams,
    reply: agentInfoSchema,
    handle: ({ params }, { service }) => service.agents.get({ id: params.agent_id }),
  }),
  route({
    method: 'GET',
    path: '/agents/name/{agent_name}',
    summary: 'Get an agent by its name',
    params: agentNameParams,
    reply: agentInfoSchema,
    handle: ({ params }, { service }) => service.agents.get({ name: params.agent_name }),
  }),
  route({
    method: 'DELETE',
    path: '/agents/{agent_id}',
    summary: 'Delete an agent. Its tasks are kept',
    params: agentIdParams,
    reply: deletedSchema,
    handle: ({ params }, { service }) => service.agents.delete(params.agent_id),
  }),
  route({
    method: 'DELETE',
    path: '/agents/name/{agent_name}',
    summary: 'Delete an agent by its name. Its tasks are kept',
    params: agentNameParams,
    reply: deletedSchema,
    async handle({ params }, { service }) {
      const { id } = await service.agents.get({ name: params.agent_name });
      return service.agents.delete(id);
    },
  }),
  route({
    method: 'POST',
    path: '/agents/register',
    summary:
      'Register an agent that runs in another process. Replaces the agent with the same name',
    body: registerAgentSchema,
    reply: agentInfoSchema.extend({ agent_api_key: z.string() }),
    handle: ({ body }, { service }) => service.agents.register(body),
  }),
  route({
    method: 'POST',
    path: '/agents/register-build',
    summary: 'Register the build of an agent that does not run yet',
    body: registerBuildSchema,
    reply: agentInfoSchema,
    handle: ({ body }, { service }) => service.agents.registerBuild(body),
  }),
];
