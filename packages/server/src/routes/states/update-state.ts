import { updateStateSchema } from '../../contract/request-bodies.ts';
import { taskStateSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { stateIdParams } from '../path-params.ts';

export const updateState = route({
  method: 'PUT',
  path: '/states/{state_id}',
  summary: 'Replaces what an agent keeps for a task, if it has the version that is given',
  params: stateIdParams,
  body: updateStateSchema,
  reply: taskStateSchema,
  handle: ({ params, body }, { service }) => service.states.update(params.state_id, body),
});
