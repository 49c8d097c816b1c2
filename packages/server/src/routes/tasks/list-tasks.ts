import { sessionId } from '@millrace/core';
import { z } from 'zod';
import { route } from '../../http/route.ts';
import { jsonObjectSchema } from '../../wire/json.ts';
import { type TaskSummary, taskStatusSchema, taskSummarySchema } from '../../wire/task.ts';
import { listQuery, listReply, pageOf } from '../list-query.ts';
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
    ...listRelationships,
    ...listQuery,
  }),
  reply: z.array(taskSummarySchema),
  async handle({ query }, { service, log }) {
    const { agent_id: id, agent_name: name, status, task_metadata: metadata } = query;
    const agentId = name === undefined ? id : (await service.agents.get({ name })).id;
    const listed = await service.tasks.list({ ...pageOf(query), agentId, status, metadata });
    // A name and an id of two agents: there is no task of both.
    const data = id !== undefined && id !== agentId ? [] : listed.data;
    const shown = data.map((task) => withRelationships(task, query));
    if (!query.relationships?.includes('work')) return listReply({ ...listed, data: shown });
    const isAtWork = async (task: TaskSummary) =>
      (await log.info(sessionId(task.id)))?.hasWork ?? false;
    const working = shown.map(async (task) => ({ ...task, is_at_work: await isAtWork(task) }));
    return listReply({ ...listed, data: await Promise.all(working) });
  },
});
