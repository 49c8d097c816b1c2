import { taskMessageSchema } from '../../contract/message.ts';
import { updateMessageSchema } from '../../contract/request-bodies.ts';
import { route } from '../../http/route.ts';
import { messageIdParams } from '../path-params.ts';

export const updateMessage = route({
  method: 'PUT',
  path: '/messages/{message_id}',
  summary: 'Replaces what a message says',
  params: messageIdParams,
  body: updateMessageSchema,
  reply: taskMessageSchema,
  handle: ({ params, body }, { service }) => service.messages.update(params.message_id, body),
});
