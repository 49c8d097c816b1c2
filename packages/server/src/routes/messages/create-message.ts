import { route } from '../../http/route.ts';
import { taskMessageSchema } from '../../wire/task-message.ts';
import { createMessageSchema } from '../request-bodies.ts';

export const createMessage = route({
  method: 'POST',
  path: '/messages',
  summary: 'Adds a message to a task; nobody answers it',
  body: createMessageSchema,
  reply: taskMessageSchema,
  handle: ({ body }, { service }) => service.messages.create(body),
});
