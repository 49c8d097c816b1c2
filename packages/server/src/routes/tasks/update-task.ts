import { updateTaskSchema } from '../../contract/request-bodies.ts';
import { taskSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { taskIdParams, taskNameParams } from '../path-params.ts';

export const updateTask = [
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
];
