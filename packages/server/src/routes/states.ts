import { z } from 'zod';
import { createStateSchema, updateStateSchema } from '../contract/request-bodies.ts';
import { ServerError } from '../contract/server-error.ts';
import { taskStateSchema } from '../contract/task.ts';
import { type Route, route } from '../http/route.ts';
import { listQuery, listReply, stateIdParams, toPageQuery } from './route-schemas.ts';

export const stateRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/states',
    summary: 'Create a state of an agent for a task',
    body: createStateSchema,
    reply: taskStateSchema,
    handle: ({ body }, { service }) => service.states.create(body),
  }),
  route({
    method: 'GET',
    path: '/states',
    runsInTurn: true,
    summary: 'List states',
    query: z.object({
      task_id: z.string().optional(),
      agent_id: z.string().optional(),
      ...listQuery,
    }),
    reply: z.array(taskStateSchema),
    async handle({ query }, { service }) {
      const of = { taskId: query.task_id, agentId: query.agent_id };
      return listReply(await service.states.list({ ...toPageQuery(query), ...of }));
    },
  }),
  route({
    method: 'GET',
    path: '/states/{state_id}',
    runsInTurn: true,
    summary: 'Get a state',
    params: stateIdParams,
    reply: taskStateSchema,
    handle: ({ params }, { service }) => service.states.get(params.state_id),
  }),
  route({
    method: 'PUT',
    path: '/states/{state_id}',
    summary: 'Replace a state. With a version, only if the state still has it',
    params: stateIdParams,
    body: updateStateSchema,
    reply: taskStateSchema,
    async handle({ params, body }, { service }) {
      const { task_id, agent_id } = await service.states.get(params.state_id);
      const isOther =
        (body.task_id ?? task_id) !== task_id || (body.agent_id ?? agent_id) !== agent_id;
      if (isOther) throw ownerError(params.state_id);
      return service.states.update(params.state_id, body);
    },
  }),
  route({
    method: 'DELETE',
    path: '/states/{state_id}',
    summary: 'Delete a state and return it',
    params: stateIdParams,
    reply: taskStateSchema,
    handle: ({ params }, { service }) => service.states.delete(params.state_id),
  }),
];

function ownerError(id: string): ServerError {
  const message = `Cannot change state ${id}: it belongs to another task or agent. Omit task_id and agent_id`;
  return new ServerError('invalid', message);
}
