import { taskMessageSchema } from '../../contract/message.ts';
import { createMessageSchema } from '../../contract/request-bodies.ts';
import { route } from '../../http/route.ts';

export const createMessage = route({
  method: 'POST',
  path: '/messages',
  summary: 'Adds a message to a task; nobody answers it',
  body: createMessageSchema,
  reply: taskMessageSchema,
  handle: ({ body }, { service }) => service.messages.create(body),
});
