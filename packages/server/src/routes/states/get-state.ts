import { taskStateSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { stateIdParams } from '../path-params.ts';

export const getState = route({
  method: 'GET',
  path: '/states/{state_id}',
  summary: 'What an agent keeps for a task',
  params: stateIdParams,
  reply: taskStateSchema,
  handle: ({ params }, { service }) => service.states.get(params.state_id),
});
