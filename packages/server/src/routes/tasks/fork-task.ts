import { forkTaskSchema } from '../../contract/request-bodies.ts';
import { taskSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { taskIdParams } from '../path-params.ts';

export const forkTask = route({
  method: 'POST',
  path: '/tasks/{task_id}/fork',
  summary:
    'Answers again, or something else, in a new task that has what was before; `task_metadata.branch` says where they part',
  params: taskIdParams,
  body: forkTaskSchema,
  isBodyOptional: true,
  status: 201,
  reply: taskSchema,
  handle: ({ params, body }, { service, trace }) =>
    service.tasks.fork(params.task_id, body, { trace }),
});
