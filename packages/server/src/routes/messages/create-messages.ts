import { z } from 'zod';
import { taskMessageSchema } from '../../contract/message.ts';
import { createMessagesSchema } from '../../contract/request-bodies.ts';
import { route } from '../../http/route.ts';

export const createMessages = route({
  method: 'POST',
  path: '/messages/batch',
  summary: 'Adds several messages to a task, in their order',
  body: createMessagesSchema,
  reply: z.array(taskMessageSchema),
  handle: ({ body }, { service }) => service.messages.createMany(body),
});
