import { route } from '../../http/route.ts';
import { trackerSchema } from '../../wire/tracker.ts';
import { trackerIdParams } from '../path-params.ts';
import { updateTrackerSchema } from '../request-bodies.ts';

export const updateTracker = route({
  method: 'PUT',
  path: '/tracker/{tracker_id}',
  summary: 'Says up to where an agent has dealt with the events of a task',
  params: trackerIdParams,
  body: updateTrackerSchema,
  reply: trackerSchema,
  handle: ({ params, body }, { service }) => service.trackers.update(params.tracker_id, body),
});
