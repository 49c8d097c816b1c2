import { taskEventSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { eventIdParams } from '../path-params.ts';

export const getEvent = route({
  method: 'GET',
  path: '/events/{event_id}',
  summary: 'An event',
  params: eventIdParams,
  reply: taskEventSchema,
  handle: ({ params }, { service }) => service.events.get(params.event_id),
});
