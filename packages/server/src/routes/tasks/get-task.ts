import { z } from 'zod';
import { taskResponseSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { taskIdParams, taskNameParams } from '../path-params.ts';
import { relationshipsQuery, withRelationships } from './relationships.ts';

const query = z.object(relationshipsQuery);

export const getTask = [
  route({
    method: 'GET',
    path: '/tasks/{task_id}',
    summary: 'A task by its id',
    params: taskIdParams,
    query,
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
    query,
    reply: taskResponseSchema,
    async handle({ params, query: asked }, { service }) {
      return withRelationships(await service.tasks.get({ name: params.task_name }), asked);
    },
  }),
];
