import { z } from 'zod';
import { route } from '../../http/route.ts';
import { taskMessageSchema } from '../../wire/task-message.ts';
import { updateMessagesSchema } from '../request-bodies.ts';

export const updateMessages = route({
  method: 'PUT',
  path: '/messages/batch',
  summary: 'Replaces what several messages of a task say',
  body: updateMessagesSchema,
  reply: z.array(taskMessageSchema),
  handle: ({ body }, { service }) => service.messages.updateMany(body),
});
