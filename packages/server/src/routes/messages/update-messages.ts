import { z } from 'zod';
import { taskMessageSchema } from '../../contract/message.ts';
import { updateMessagesSchema } from '../../contract/request-bodies.ts';
import { route } from '../../http/route.ts';

export const updateMessages = route({
  method: 'PUT',
  path: '/messages/batch',
  summary: 'Replaces what several messages of a task say',
  body: updateMessagesSchema,
  reply: z.array(taskMessageSchema),
  handle: ({ body }, { service }) => service.messages.updateMany(body),
});
