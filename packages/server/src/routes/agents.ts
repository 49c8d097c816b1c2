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
    summary: 'Lists agents: all that are not deleted, or those of a task',
    query: z.object({ task_id: z.string().optional(), ...listQuery }),
    reply: z.array(agentInfoSchema),
    async handle({ query }, { service }) {
      return listReply(await service.agents.list({ ...toPageQuery(query), taskId: query.task_id }));
    },
  }),
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
  route({
    method: 'POST',
    path: '/agents/register',
    summary:
      'Registers an agent of another process, or takes the place of the one that has its name',
    body: registerAgentSchema,
    reply: agentInfoSchema.extend({ agent_api_key: z.string() }),
    handle: ({ body }, { service }) => service.agents.register(body),
  }),
  route({
    method: 'POST',
    path: '/agents/register-build',
    summary: 'Announces an agent that is built and does not run yet',
    body: registerBuildSchema,
    reply: agentInfoSchema,
    handle: ({ body }, { service }) => service.agents.registerBuild(body),
  }),
];
