import { z } from 'zod';
import { jsonValueSchema } from '../../contract/content.ts';
import {
  createTaskSchema,
  namedTaskSchema,
  sendEventSchema,
  sendMessageSchema,
} from '../../contract/request-bodies.ts';

const head = {
  jsonrpc: z.literal('2.0').optional(),
  id: z.union([z.string(), z.int()]).nullish(),
};

/** What can be asked of an agent, for the document; the requests themselves are read step by step. */
export const rpcBodySchema = z.discriminatedUnion('method', [
  z.object({ ...head, method: z.literal('task/create'), params: createTaskSchema.optional() }),
  z.object({ ...head, method: z.literal('message/send'), params: sendMessageSchema }),
  z.object({ ...head, method: z.literal('event/send'), params: sendEventSchema }),
  z.object({ ...head, method: z.literal('task/cancel'), params: namedTaskSchema }),
  z.object({ ...head, method: z.literal('task/interrupt'), params: namedTaskSchema }),
]);

const error = z.object({ code: z.int(), message: z.string(), data: jsonValueSchema.nullable() });

export const rpcReplySchema = z.object({
  jsonrpc: z.literal('2.0'),
  result: jsonValueSchema.nullable(),
  error: error.nullable(),
  id: z.union([z.string(), z.int()]).nullable(),
});
