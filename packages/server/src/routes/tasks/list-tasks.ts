import { z } from 'zod';
import { route } from '../../http/route.ts';
import { jsonObjectSchema } from '../../wire/json.ts';
import { taskStatusSchema, taskSummarySchema } from '../../wire/task.ts';
import { listQuery, listReply, pageOf } from '../list-query.ts';
import { relationshipsQuery, withRelationships } from './relationships.ts';

export const listTasks = route({
  method: 'GET',
  path: '/tasks',
  summary: 'Lists tasks, the last changed first',
  query: z.object({
    agent_id: z.string().optional(),
    agent_name: z.string().optional(),
    status: taskStatusSchema.optional(),
    task_metadata: jsonObjectSchema.optional(),
    ...relationshipsQuery,
    ...listQuery,
  }),
  reply: z.array(taskSummarySchema),
  async handle({ query }, { service }) {
    const { agent_id: id, agent_name: name, status, task_metadata: metadata } = query;
    const agentId = name === undefined ? id : (await service.agents.get({ name })).id;
    const listed = await service.tasks.list({ ...pageOf(query), agentId, status, metadata });
    // A name and an id of two agents: there is no task of both.
    const data = id !== undefined && id !== agentId ? [] : listed.data;
    return listReply({ ...listed, data: data.map((task) => withRelationships(task, query)) });
  },
});
