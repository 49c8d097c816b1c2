import { isJsonObject, type JsonObject } from '@millrace/core';
import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';
import { readJson } from '../../http/request-input.ts';
import { Reply, type Route, type RouteContext, route, type StreamReply } from '../../http/route.ts';
import { agentNameParams, id } from '../route-schemas.ts';
import { RpcError, readRpcRequest, rpcCodes } from '../rpc/rpc-request.ts';
import { baseUrl, cardReply, findAgent, findCardAgent } from './agent-card.ts';
import type { A2aContext } from './open-task.ts';
import { type A2aResult, operationNames, operationOf } from './operations.ts';
import { invalidParams } from './protocol/a2a-error.ts';
import { assertVersion } from './protocol/version.ts';
import { httpBinding, rpcBinding, writeResult } from './write-result.ts';

const path = '/agents/name/{agent_name}/a2a';
const taskParams = agentNameParams.extend({ task_id: id });
const configParams = taskParams.extend({
  config_id: id.describe('The id of the push configuration'),
});
const object = z.looseObject({});
const json = z.record(z.string(), z.unknown());
const cardSchema = z.looseObject({ name: z.string(), description: z.string() });

/** A route of the HTTP+JSON binding whose handler reads the body itself. */
const withBody = {
  method: 'POST',
  body: json,
  readsBody: true,
  isLarge: true,
  reply: object,
} as const;

/**
 * The endpoints for clients of A2A 1.0, with the bindings JSON-RPC and HTTP+JSON. A context is a session, and a
 * task is a run of it.
 */
export const a2aRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/.well-known/agent-card.json',
    summary: 'Get the A2A card of the main agent',
    reply: cardSchema,
    handle: async (_, context) => cardReply(await findCardAgent(context), context),
  }),
  route({
    method: 'GET',
    path: `${path}/.well-known/agent-card.json`,
    summary: 'Get the A2A card of an agent',
    params: agentNameParams,
    reply: cardSchema,
    handle: async ({ params }, context) =>
      cardReply(await findCardAgent(context, params.agent_name), context),
  }),
  route({
    ...withBody,
    path,
    summary:
      'Call an operation of A2A 1.0 with JSON-RPC, for example SendMessage. The reply to a streaming operation is a stream of events',
    params: agentNameParams,
    handle: ({ params }, context) => handleRpc(params.agent_name, context),
  }),
  route({
    ...withBody,
    path: `${path}/message:send`,
    summary: 'Send a message to an agent with A2A, and wait for its task',
    params: agentNameParams,
    handle: ({ params }, context) => call('SendMessage', params, context),
  }),
  route({
    ...withBody,
    path: `${path}/message:stream`,
    summary: 'Send a message to an agent with A2A. The reply is a stream of events of its task',
    params: agentNameParams,
    handle: ({ params }, context) => call('SendStreamingMessage', params, context),
  }),
  route({
    method: 'GET',
    path: `${path}/tasks`,
    summary: 'List the tasks of an agent in the format of A2A',
    params: agentNameParams,
    reply: object,
    handle: ({ params }, context) => call('ListTasks', params, context),
  }),
  route({
    method: 'GET',
    path: `${path}/tasks/{task_id}`,
    summary: 'Get a task in the format of A2A. `{task_id}:subscribe` streams its events',
    params: taskParams,
    reply: object,
    handle: ({ params }, context) => callTask('GetTask', params, context),
  }),
  route({
    ...withBody,
    path: `${path}/tasks/{task_id}`,
    summary: 'Cancel a task (`{task_id}:cancel`), or stream its events (`{task_id}:subscribe`)',
    isBodyOptional: true,
    params: taskParams,
    handle: ({ params }, context) => callTask(undefined, params, context),
  }),
  route({
    ...withBody,
    path: `${path}/tasks/{task_id}/pushNotificationConfigs`,
    summary:
      'Add a push configuration to a task. The server sends the status of the task to its URL',
    params: taskParams,
    handle: ({ params }, context) =>
      call('CreateTaskPushNotificationConfig', pushParams(params), context),
  }),
  route({
    method: 'GET',
    path: `${path}/tasks/{task_id}/pushNotificationConfigs`,
    summary: 'List the push configurations of a task',
    params: taskParams,
    reply: object,
    handle: ({ params }, context) =>
      call('ListTaskPushNotificationConfigs', pushParams(params), context),
  }),
  route({
    method: 'GET',
    path: `${path}/tasks/{task_id}/pushNotificationConfigs/{config_id}`,
    summary: 'Get a push configuration of a task, without its credentials',
    params: configParams,
    reply: object,
    handle: ({ params }, context) =>
      call('GetTaskPushNotificationConfig', pushParams(params), context),
  }),
  route({
    method: 'DELETE',
    path: `${path}/tasks/{task_id}/pushNotificationConfigs/{config_id}`,
    summary: 'Delete a push configuration of a task',
    params: configParams,
    reply: object,
    handle: ({ params }, context) =>
      call('DeleteTaskPushNotificationConfig', pushParams(params), context),
  }),
  route({
    method: 'GET',
    path: `${path}/extendedAgentCard`,
    summary: 'Get the extended card of an agent. The server has none, so the reply is an error',
    params: agentNameParams,
    reply: object,
    handle: ({ params }, context) => call('GetExtendedAgentCard', params, context),
  }),
];

async function handleRpc(name: string, context: RouteContext): Promise<Reply | StreamReply> {
  let binding = rpcBinding(null);
  try {
    const { maxFileBytes: maxBodyBytes } = context.limits;
    const request = readRpcRequest(context.bytes, { ...context.limits, maxBodyBytes });
    binding = rpcBinding(request.id);
    assertVersion(context);
    const { method, params } = request;
    if (!isJsonObject(params))
      throw invalidParams('Cannot call the method: params is not an object');
    const { result, full } = await run(method, name, params, context);
    if (request.isNotification) return new Reply(undefined, { status: 204 });
    return writeResult(result, binding, full);
  } catch (error) {
    const problem = error instanceof RpcError ? error : context.toServerError(error);
    // Proxies and clients act on these statuses.
    if (problem instanceof ServerError && [401, 403, 429, 503].includes(problem.status))
      throw problem;
    return binding.failure(problem);
  }
}

async function run(
  method: string,
  agentName: string,
  params: JsonObject,
  context: RouteContext,
): Promise<{ readonly result: A2aResult; readonly full: A2aContext }> {
  const operation = operationOf(method);
  if (operation === undefined) {
    const known = operationNames.join(', ');
    throw new RpcError(rpcCodes.noMethod, `Cannot find this method. Known methods: ${known}`);
  }
  context.labelRequest(method);
  const agent = await findAgent(agentName, context);
  const full = { ...context, agent, base: baseUrl(context) };
  return { result: await operation(params, full), full };
}

/** Calls an operation with the HTTP+JSON binding. The parameters are in the path, the query and the body. */
async function call(
  method: string,
  {
    agent_name: name,
    ...inPath
  }: { readonly agent_name: string; readonly [field: string]: string },
  context: RouteContext,
): Promise<Reply | StreamReply> {
  assertVersion(context);
  const { bytes, limits, rawQuery } = context;
  const body = bytes === undefined || bytes.length === 0 ? {} : bodyOf(bytes, limits);
  const params = { ...(rawQuery as JsonObject), ...body, ...inPath };
  const { result, full } = await run(method, name, params, context);
  return writeResult(result, httpBinding, full);
}

function bodyOf(bytes: Buffer, limits: RouteContext['limits']): JsonObject {
  const read = readJson(bytes, { ...limits, maxBodyBytes: limits.maxFileBytes });
  if (!read.ok) throw invalidParams(`Cannot read the body: ${read.why}`);
  if (isJsonObject(read.value)) return read.value;
  throw invalidParams('Cannot read the body: it is not an object');
}

/** Returns the parameters of an operation for push configurations. */
function pushParams(params: {
  readonly agent_name: string;
  readonly task_id: string;
  readonly config_id?: string;
}) {
  const { agent_name, task_id: taskId, config_id: given } = params;
  return { agent_name, taskId, ...(given !== undefined && { id: given }) };
}

/** The operations that the end of a path such as `/tasks/{id}:cancel` names. */
const taskActions: Readonly<Record<string, string>> = {
  cancel: 'CancelTask',
  subscribe: 'SubscribeToTask',
};

/** Calls the operation that the path names. `plain` is the operation of a path without an action. */
function callTask(
  plain: string | undefined,
  { agent_name, task_id: given }: { readonly agent_name: string; readonly task_id: string },
  context: RouteContext,
): Promise<Reply | StreamReply> {
  const [, taskId = '', action] = /^(.*?)(?::(cancel|subscribe))?$/s.exec(given) ?? [];
  const method = action === undefined ? plain : taskActions[action];
  if (method !== undefined && !(plain !== undefined && action === 'cancel'))
    return call(method, { agent_name, id: taskId }, context);
  const details = { allow: action === 'cancel' ? 'POST' : 'GET' };
  throw new ServerError('method_not_allowed', 'Cannot use this method here', {}, { details });
}

/** True if a route returns a card. With `publicCards`, it needs no token. */
export function isCardRoute(one: Pick<Route, 'path'>): boolean {
  return one.path.endsWith('/.well-known/agent-card.json');
}
