import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';
import { StreamReply } from '../../http/reply.ts';
import { type RouteContext, route } from '../../http/route.ts';
import { taskIdParams, taskNameParams } from '../path-params.ts';

const query = z.object({
  view: z.enum(['updates', 'events', 'records', 'ui']).default('updates'),
  /** The `id` of the event after which to go on; 0 is the start. `last-event-id` comes first. */
  from: z.string().max(64).optional(),
});
const reply = z.string();
const replyType = 'text/event-stream';
const cursorForm = /^\d{1,15}(?:\.\d{1,9})?$/;

export const streamTask = [
  route({
    method: 'GET',
    path: '/tasks/{task_id}/stream',
    summary: 'What happens to a task, as server-sent events that can be left and rejoined',
    params: taskIdParams,
    query,
    headers: ['last-event-id'],
    reply,
    replyType,
    handle: ({ params, query: asked }, context) => open({ id: params.task_id }, asked, context),
  }),
  route({
    method: 'GET',
    path: '/tasks/name/{task_name}/stream',
    summary:
      'What happens to a task of a name, as server-sent events that can be left and rejoined',
    params: taskNameParams,
    query,
    headers: ['last-event-id'],
    reply,
    replyType,
    handle: ({ params, query: asked }, context) => open({ name: params.task_name }, asked, context),
  }),
];

async function open(
  ref: { readonly id: string } | { readonly name: string },
  { view, from: asked }: z.output<typeof query>,
  { service, streams, headers }: RouteContext,
): Promise<StreamReply> {
  const from = cursorOf(headers['last-event-id'], asked);
  const { id: taskId } = await service.tasks.get(ref);
  return new StreamReply((response) => streams.serve({ taskId, view, from, response }));
}

/** Whoever comes back has the header, with a later cursor than what it once asked for. */
function cursorOf(header: string | string[] | undefined, asked: string | undefined) {
  const from = header === undefined || header === '' ? asked : String(header);
  if (from === undefined || cursorForm.test(from)) return from;
  const message =
    'Cannot go on from there: a cursor is the id of an event, such as 12 or 12.1. Leave it out to begin with what is there';
  throw new ServerError('invalid', message);
}
