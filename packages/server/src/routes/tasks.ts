import { z } from 'zod';
import { jsonObjectSchema } from '../contract/content.ts';
import { reasonSchema, updateTaskSchema } from '../contract/request-bodies.ts';
import type { TaskChange } from '../contract/service.ts';
import {
  type AgentInfo,
  taskResponseSchema,
  taskSchema,
  taskStatusSchema,
  taskSummarySchema,
} from '../contract/task.ts';
import { type Route, route } from '../http/route.ts';
import {
  deletedSchema,
  listQuery,
  listReply,
  taskIdParams,
  taskNameParams,
  toPageQuery,
} from './route-schemas.ts';
import { withWorkStatus } from './work-status.ts';

/**
 * What a list of tasks can be asked for besides: `work` tells which of them somebody works on, and which of
 * these wait for an approval.
 */
const listRelationships = { relationships: z.array(z.enum(['agents', 'work'])).optional() };

const relationshipsQuery = { relationships: z.array(z.enum(['agents'])).optional() };

const taskQuery = z.object(relationshipsQuery);

const changes: readonly (readonly [TaskChange, string])[] = [
  ['complete', 'Ends a task as COMPLETED'],
  ['fail', 'Ends a task as FAILED'],
  ['cancel', 'Stops what goes on, and closes the task as CANCELED'],
  ['interrupt', 'Stops what goes on; the next message resumes the task'],
  ['terminate', 'Stops what goes on, and closes the task as TERMINATED'],
  ['timeout', 'Ends a task as TIMED_OUT'],
];

export const taskRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tasks',
    summary: 'Lists tasks, the last changed first',
    query: z.object({
      agent_id: z.string().optional(),
      agent_name: z.string().optional(),
      status: taskStatusSchema.optional(),
      task_metadata: jsonObjectSchema.optional(),
      search: z.string().max(256).optional().meta({
        description:
          'What a title (`task_metadata.title`), a name or an id has in it, in whatever case',
      }),
      ...listRelationships,
      ...listQuery,
    }),
    reply: z.array(taskSummarySchema),
    async handle({ query }, { service, log, clock }) {
      const { agent_id: id, agent_name: name, status, task_metadata: metadata, search } = query;
      const agentId = name === undefined ? id : (await service.agents.get({ name })).id;
      const asked = { ...toPageQuery(query), agentId, status, metadata, search };
      const listed = await service.tasks.list(asked);
      // A name and an id of two agents: there is no task of both.
      const found = id !== undefined && id !== agentId ? [] : listed.data;
      const data = found.map((task) => withRelationships(task, query));
      const isWork = query.relationships?.includes('work') ?? false;
      return listReply({
        ...listed,
        data: isWork ? await withWorkStatus(data, { log, clock }) : data,
      });
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}',
    summary: 'A task by its id',
    params: taskIdParams,
    query: taskQuery,
    reply: taskResponseSchema,
    async handle({ params, query: asked }, { service }) {
      return withRelationships(await service.tasks.get({ id: params.task_id }), asked);
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/name/{task_name}',
    summary: 'A task by its name',
    params: taskNameParams,
    query: taskQuery,
    reply: taskResponseSchema,
    async handle({ params, query: asked }, { service }) {
      return withRelationships(await service.tasks.get({ name: params.task_name }), asked);
    },
  }),
  route({
    method: 'PUT',
    path: '/tasks/{task_id}',
    summary: 'Replaces the metadata of a task, and merges into its params',
    params: taskIdParams,
    body: updateTaskSchema,
    reply: taskSchema,
    handle: ({ params, body }, { service }) => service.tasks.update(params.task_id, body),
  }),
  route({
    method: 'PUT',
    path: '/tasks/name/{task_name}',
    summary: 'Replaces the metadata of a task by its name, and merges into its params',
    params: taskNameParams,
    body: updateTaskSchema,
    reply: taskSchema,
    async handle({ params, body }, { service }) {
      const { id } = await service.tasks.get({ name: params.task_name });
      return service.tasks.update(id, body);
    },
  }),
  route({
    method: 'DELETE',
    path: '/tasks/{task_id}',
    summary: 'Deletes a task: it is not found any more',
    params: taskIdParams,
    reply: deletedSchema,
    handle: ({ params }, { service }) => service.tasks.delete(params.task_id),
  }),
  route({
    method: 'DELETE',
    path: '/tasks/name/{task_name}',
    summary: 'Deletes a task by its name: it is not found any more',
    params: taskNameParams,
    reply: deletedSchema,
    async handle({ params }, { service }) {
      const { id } = await service.tasks.get({ name: params.task_name });
      return service.tasks.delete(id);
    },
  }),
  ...changes.map(([change, summary]) =>
    route({
      method: 'POST',
      path: `/tasks/{task_id}/${change}`,
      summary,
      params: taskIdParams,
      body: reasonSchema,
      isBodyOptional: true,
      reply: taskSchema,
      handle: ({ params, body }, { service }) =>
        service.tasks.change(params.task_id, change, body.reason ?? undefined),
    }),
  ),
];

/** Its agents are told only to whoever asks for them. */
function withRelationships<T extends { readonly agents: AgentInfo[] | null }>(
  task: T,
  query: { readonly relationships?: readonly ('agents' | 'work')[] | undefined },
): T {
  return query.relationships?.includes('agents') ? task : { ...task, agents: null };
}
