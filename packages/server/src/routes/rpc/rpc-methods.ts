import { z } from 'zod';
import { closedObject } from '../../contract/closed-object.ts';
import { jsonValueSchema } from '../../contract/content.ts';
import {
  createTaskSchema,
  namedTaskSchema,
  sendEventSchema,
  sendMessageSchema,
} from '../../contract/request-bodies.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { Answer, Ref, TaskChange } from '../../contract/service.ts';
import { rpcResultSchema } from '../../contract/stream-schemas.ts';
import { validate } from '../../http/request-input.ts';
import { type RouteContext, requestMetadata } from '../../http/route.ts';

/** The result of a method: a value, or an answer to stream. */
export type RpcResult =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'stream'; readonly answer: Answer };

type RpcMethod = (agentId: string, params: unknown, context: RouteContext) => Promise<RpcResult>;

/** The handlers of the JSON-RPC methods, by method name. */
export const rpcMethods: ReadonlyMap<string, RpcMethod> = new Map<string, RpcMethod>([
  [
    'task/create',
    async (agentId, params, context) => {
      const { service } = context;
      const body = readParams(createTaskSchema, params);
      const task = await service.tasks.create(agentId, body, requestMetadata(context));
      return { kind: 'value', value: task };
    },
  ],
  [
    'message/send',
    async (agentId, params, context) => {
      const { service } = context;
      const body = readParams(sendMessageSchema, params);
      readTaskRef(body, false);
      const answer = await service.tasks.sendMessage(agentId, body, requestMetadata(context));
      if (body.stream === true) return { kind: 'stream', answer };
      return { kind: 'value', value: await answer.messages() };
    },
  ],
  [
    'event/send',
    async (agentId, params, context) => {
      const { service } = context;
      const body = readParams(sendEventSchema, params);
      readTaskRef(body, true);
      const event = await service.tasks.sendEvent(agentId, body, requestMetadata(context));
      return { kind: 'value', value: event };
    },
  ],
  ['task/cancel', (agentId, params, context) => changeTask(agentId, params, 'cancel', context)],
  [
    'task/interrupt',
    (agentId, params, context) => changeTask(agentId, params, 'interrupt', context),
  ],
]);

async function changeTask(
  agentId: string,
  params: unknown,
  what: TaskChange,
  { service }: RouteContext,
): Promise<RpcResult> {
  const named = readParams(namedTaskSchema, params);
  const { id, agents } = await service.tasks.get(readTaskRef(named, true));
  if (!agents?.some((agent) => agent.id === agentId)) {
    const message = `Cannot ${what} task ${id} here: it belongs to another agent. Send the request to that agent`;
    throw new ServerError('not_found', message, { task: id });
  }
  return { kind: 'value', value: await service.tasks.change(id, what) };
}

function readParams<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  return validate(schema, params, 'the params');
}

type NamedTask = z.output<typeof namedTaskSchema>;

function readTaskRef(task: NamedTask, isNeeded: true): Ref;
function readTaskRef(task: NamedTask, isNeeded: boolean): Ref | undefined;
function readTaskRef({ task_id, task_name }: NamedTask, isNeeded: boolean): Ref | undefined {
  if (task_id != null && task_name != null)
    throw new ServerError('invalid', 'Cannot use task_id and task_name together. Send one of them');
  if (task_id != null) return { id: task_id };
  if (task_name != null) return { name: task_name };
  if (isNeeded)
    throw new ServerError(
      'invalid',
      'Cannot find the task without a reference. Send task_id or task_name',
    );
  return undefined;
}

const head = {
  jsonrpc: z.literal('2.0').optional(),
  id: z.union([z.string(), z.int()]).nullish(),
};

/** The request schema for the OpenAPI document. `readRpcRequest` and the methods parse the real requests. */
export const rpcBodySchema = z.discriminatedUnion('method', [
  closedObject({ ...head, method: z.literal('task/create'), params: createTaskSchema.optional() }),
  closedObject({ ...head, method: z.literal('message/send'), params: sendMessageSchema }),
  closedObject({ ...head, method: z.literal('event/send'), params: sendEventSchema }),
  closedObject({ ...head, method: z.literal('task/cancel'), params: namedTaskSchema }),
  closedObject({ ...head, method: z.literal('task/interrupt'), params: namedTaskSchema }),
]);

const error = z.object({ code: z.int(), message: z.string(), data: jsonValueSchema.nullable() });

export const rpcReplySchema = z.object({
  jsonrpc: z.literal('2.0'),
  result: rpcResultSchema.nullable(),
  error: error.nullable(),
  id: z.union([z.string(), z.int()]).nullable(),
});
