import { taskMessageSchema } from '../../contract/message.ts';
import { route } from '../../http/route.ts';
import { messageIdParams } from '../path-params.ts';

export const getMessage = route({
  method: 'GET',
  path: '/messages/{message_id}',
  summary: 'A message',
  params: messageIdParams,
  reply: taskMessageSchema,
  handle: ({ params }, { service }) => service.messages.get(params.message_id),
});
