import { route } from '../../http/route.ts';
import { taskEventSchema } from '../../wire/task-event.ts';
import { eventIdParams } from '../path-params.ts';

export const getEvent = route({
  method: 'GET',
  path: '/events/{event_id}',
  summary: 'An event',
  params: eventIdParams,
  reply: taskEventSchema,
  handle: ({ params }, { service }) => service.events.get(params.event_id),
});
