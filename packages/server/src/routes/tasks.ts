import { z } from 'zod';
import { jsonObjectSchema } from '../contract/content.ts';
import { reasonSchema, updateTaskSchema } from '../contract/request-bodies.ts';
import type { TaskChange } from '../contract/service.ts';
import {
  type AgentInfo,
  taskPlaceSchema,
  taskResponseSchema,
  taskSchema,
  taskStatusSchema,
  taskSummarySchema,
} from '../contract/task.ts';
import { type Route, route } from '../http/route.ts';
import { withWorkStatus } from '../inspection/work-status.ts';
import {
  deletedSchema,
  listQuery,
  listReply,
  taskIdParams,
  taskNameParams,
  toPageQuery,
} from './route-schemas.ts';

/**
 * Optional fields in a list of tasks. `work` adds whether an agent works on the task, and whether the task
 * waits for an approval.
 */
const listRelationships = { relationships: z.array(z.enum(['agents', 'work'])).optional() };

const relationshipsQuery = { relationships: z.array(z.enum(['agents'])).optional() };

const taskQuery = z.object(relationshipsQuery);

const changes: readonly (readonly [TaskChange, string])[] = [
  ['complete', 'End a task as COMPLETED'],
  ['fail', 'End a task as FAILED'],
  ['cancel', 'Stop the running work and end the task as CANCELED'],
  ['interrupt', 'Stop the running work. The next message resumes the task'],
  ['terminate', 'Stop the running work and end the task as TERMINATED'],
  ['timeout', 'End a task as TIMED_OUT'],
];

/** Routes for the row of a task: list, get, update, delete, and status changes. */
export const taskRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tasks',
    summary: 'List tasks, last changed first',
    query: z.object({
      agent_id: z.string().optional(),
      agent_name: z.string().optional(),
      status: taskStatusSchema.optional(),
      task_metadata: jsonObjectSchema.optional(),
      place: taskPlaceSchema.optional().meta({
        description:
          'The part of the session list. `archived`: the metadata has `archived: true`; `kept`: it has `pinned: true` or a `folder`; `recent`: all others. Default: all parts',
      }),
      search: z.string().max(256).optional().meta({
        description:
          'Text to find in the title (`task_metadata.title`), name or id of a task. Case is ignored',
      }),
      ...listRelationships,
      ...listQuery,
    }),
    reply: z.array(taskSummarySchema),
    async handle({ query }, { service, log, clock }) {
      const { agent_id: id, agent_name: name, status, place, search } = query;
      const { task_metadata: metadata } = query;
      const agentId = name === undefined ? id : (await service.agents.get({ name })).id;
      const requested = { ...toPageQuery(query), agentId, status, place, metadata, search };
      const listed = await service.tasks.list(requested);
      // If the given name and the given id belong to different agents, no task matches.
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
    summary: 'Get a task by its id',
    params: taskIdParams,
    query: taskQuery,
    reply: taskResponseSchema,
    async handle({ params, query: requested }, { service }) {
      return withRelationships(await service.tasks.get({ id: params.task_id }), requested);
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/name/{task_name}',
    summary: 'Get a task by its name',
    params: taskNameParams,
    query: taskQuery,
    reply: taskResponseSchema,
    async handle({ params, query: requested }, { service }) {
      return withRelationships(await service.tasks.get({ name: params.task_name }), requested);
    },
  }),
  route({
    method: 'PUT',
    path: '/tasks/{task_id}',
    summary: 'Replace or merge the metadata of a task, and merge params into its params',
    params: taskIdParams,
    body: updateTaskSchema,
    reply: taskSchema,
    handle: ({ params, body }, { service }) => service.tasks.update(params.task_id, body),
  }),
  route({
    method: 'PUT',
    path: '/tasks/name/{task_name}',
    summary: 'Replace or merge the metadata of a task, and merge params into its params, by name',
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
    summary: 'Delete a task',
    params: taskIdParams,
    reply: deletedSchema,
    handle: ({ params }, { service }) => service.tasks.delete(params.task_id),
  }),
  route({
    method: 'DELETE',
    path: '/tasks/name/{task_name}',
    summary: 'Delete a task by its name',
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

/** Returns the task without its agents, unless the request includes them in `relationships`. */
function withRelationships<T extends { readonly agents: AgentInfo[] | null }>(
  task: T,
  query: { readonly relationships?: readonly ('agents' | 'work')[] | undefined },
): T {
  return query.relationships?.includes('agents') ? task : { ...task, agents: null };
}
