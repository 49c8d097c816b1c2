import { route } from '../../http/route.ts';
import { deletedSchema } from '../deleted-reply.ts';
import { taskIdParams, taskNameParams } from '../path-params.ts';

export const deleteTask = [
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
];
