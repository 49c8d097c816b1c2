import { z } from 'zod';
import { commandSchema } from '../../contract/request-bodies.ts';
import { route } from '../../http/route.ts';
import { sentWith } from '../../http/sent-with.ts';
import { taskIdParams } from '../path-params.ts';

export const submitCommand = route({
  method: 'POST',
  path: '/tasks/{task_id}/commands',
  summary:
    'Leaves a command for the agent loop: a message, steer, withdraw, approve, deny, revoke, abort, compact',
  params: taskIdParams,
  headers: ['idempotency-key'],
  body: commandSchema,
  status: 202,
  reply: z.object({ offset: z.int(), is_repeat: z.boolean() }),
  handle: ({ params, body }, context) =>
    context.service.tasks.submit(params.task_id, body, sentWith(context)),
});
