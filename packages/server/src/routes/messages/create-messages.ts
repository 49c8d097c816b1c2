import { z } from 'zod';
import { route } from '../../http/route.ts';
import { taskMessageSchema } from '../../wire/task-message.ts';
import { createMessagesSchema } from '../request-bodies.ts';

export const createMessages = route({
  method: 'POST',
  path: '/messages/batch',
  summary: 'Adds several messages to a task, in their order',
  body: createMessagesSchema,
  reply: z.array(taskMessageSchema),
  handle: ({ body }, { service }) => service.messages.createMany(body),
});
