import { reasonSchema } from '../../contract/request-bodies.ts';
import type { TaskChange } from '../../contract/service.ts';
import { taskSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { taskIdParams } from '../path-params.ts';

const changes: readonly (readonly [TaskChange, string])[] = [
  ['complete', 'Ends a task as COMPLETED'],
  ['fail', 'Ends a task as FAILED'],
  ['cancel', 'Stops what goes on, and closes the task as CANCELED'],
  ['interrupt', 'Stops what goes on; the next message resumes the task'],
  ['terminate', 'Stops what goes on, and closes the task as TERMINATED'],
  ['timeout', 'Ends a task as TIMED_OUT'],
];

export const changeTask = changes.map(([change, summary]) =>
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
);
