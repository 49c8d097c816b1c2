import { createStateSchema } from '../../contract/request-bodies.ts';
import { taskStateSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';

export const createState = route({
  method: 'POST',
  path: '/states',
  summary: 'Keeps something for an agent and a task',
  body: createStateSchema,
  reply: taskStateSchema,
  handle: ({ body }, { service }) => service.states.create(body),
});
