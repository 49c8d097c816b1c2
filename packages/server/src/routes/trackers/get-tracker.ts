import { trackerSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { trackerIdParams } from '../path-params.ts';

export const getTracker = route({
  method: 'GET',
  path: '/tracker/{tracker_id}',
  summary: 'Up to where an agent has dealt with the events of a task, by its id or the task’s',
  params: trackerIdParams,
  reply: trackerSchema,
  handle: ({ params }, { service }) => service.trackers.get(params.tracker_id),
});
