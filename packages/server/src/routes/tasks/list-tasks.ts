import { z } from 'zod';
import { jsonObjectSchema } from '../../contract/content.ts';
import { taskStatusSchema, taskSummarySchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { listQuery, listReply, pageOf } from '../list-query.ts';
import { withWork } from './list-work.ts';
import { listRelationships, withRelationships } from './relationships.ts';

export const listTasks = route({
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
    const asked = { ...pageOf(query), agentId, status, metadata, search };
    const listed = await service.tasks.list(asked);
    // A name and an id of two agents: there is no task of both.
    const found = id !== undefined && id !== agentId ? [] : listed.data;
    const data = found.map((task) => withRelationships(task, query));
    const isWork = query.relationships?.includes('work') ?? false;
    return listReply({ ...listed, data: isWork ? await withWork(data, { log, clock }) : data });
  },
});
