import { taskStateSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { stateIdParams } from '../path-params.ts';

export const deleteState = route({
  method: 'DELETE',
  path: '/states/{state_id}',
  summary: 'Deletes what an agent keeps for a task, and says what it was',
  params: stateIdParams,
  reply: taskStateSchema,
  handle: ({ params }, { service }) => service.states.delete(params.state_id),
});
