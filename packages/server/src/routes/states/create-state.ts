import { route } from '../../http/route.ts';
import { taskStateSchema } from '../../wire/task-state.ts';
import { createStateSchema } from '../request-bodies.ts';

export const createState = route({
  method: 'POST',
  path: '/states',
  summary: 'Keeps something for an agent and a task',
  body: createStateSchema,
  reply: taskStateSchema,
  handle: ({ body }, { service }) => service.states.create(body),
});
