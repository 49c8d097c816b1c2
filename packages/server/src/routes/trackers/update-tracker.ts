import { updateTrackerSchema } from '../../contract/request-bodies.ts';
import { trackerSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { trackerIdParams } from '../path-params.ts';

export const updateTracker = route({
  method: 'PUT',
  path: '/tracker/{tracker_id}',
  summary: 'Says up to where an agent has dealt with the events of a task',
  params: trackerIdParams,
  body: updateTrackerSchema,
  reply: trackerSchema,
  handle: ({ params, body }, { service }) => service.trackers.update(params.tracker_id, body),
});
