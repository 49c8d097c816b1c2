import { isJsonObject, type JsonObject } from '@millrace/core';
import { Reply, type RouteContext, type StreamReply } from '../../http/route.ts';
import { changeConnection, levelOf } from './follow/connection.ts';
import { subscribe, unsubscribe } from './follow/connection-stream.ts';
import { openListen } from './follow/listen.ts';
import type { McpOptions } from './mcp-options.ts';
import { CallProblem, openCall } from './open-call.ts';
import { complete, getPrompt, listPrompts } from './prompts.ts';
import {
  type McpCaller,
  negotiatedVersion,
  newConnection,
  parseLevel,
  supportedVersions,
  tasksExtension,
} from './protocol/caller.ts';
import {
  field,
  invalidParams,
  isMcpId,
  McpError,
  type McpRequest,
  mcpCodes,
} from './protocol/rpc-message.ts';
import { readAnswers } from './questions.ts';
import { listResources, listTemplates, readResource } from './resources.ts';
import { assertTasks, cancelTask, createdTask, findTask, readTask, updateTask } from './tasks.ts';
import { listTools, toolDefinition } from './tool-list.ts';
import { errorResult } from './tool-result.ts';
import { jsonReply, response, serverInfo, streamCall } from './write-call.ts';

/** A request with all that its method needs. */
export interface Exchange {
  readonly request: McpRequest;
  readonly caller: McpCaller;
  readonly options: McpOptions;
  readonly context: RouteContext;
}

type Result = JsonObject | Reply | StreamReply;
type Method = (exchange: Exchange) => Promise<Result>;

/** Lists and contents can change at any time, and they depend on the rights of the caller. */
const uncached = { ttlMs: 0, cacheScope: 'private' } as const;

const shared: Readonly<Record<string, Method>> = {
  'tools/list': async ({ context }) => ({
    tools: (await listTools(context)).map(toolDefinition),
    ...uncached,
  }),
  'tools/call': callTool,
  'resources/list': async ({ request, options, context }) => ({
    ...(await listResources(field(request.params, 'cursor'), options, context)),
    ...uncached,
  }),
  'resources/templates/list': async ({ options }) => ({ ...listTemplates(options), ...uncached }),
  'resources/read': async ({ request, options, caller, context }) => ({
    ...(await readResource(request.params, options, caller, context)),
    ...uncached,
  }),
  'prompts/list': async ({ options }) => ({ ...listPrompts(options), ...uncached }),
  'prompts/get': ({ request, options, caller, context }) =>
    getPrompt(request.params, options, caller, context),
  'completion/complete': ({ request, options, context }) =>
    complete(request.params, options, context),
};

const modern: Readonly<Record<string, Method>> = {
  ...shared,
  'server/discover': async ({ options }) => ({
    supportedVersions: [...supportedVersions],
    capabilities: { ...capabilities(options), extensions: { [tasksExtension]: {} } },
    ...(options.instructions && { instructions: options.instructions }),
    ...uncached,
  }),
  'tasks/get': async ({ request, caller, context }) => {
    assertTasks(caller);
    const id = field(request.params, 'taskId');
    const read = async () => readTask(await findTask(id, context), caller, context);
    return context.inTurn(read, 'refuse');
  },
  'tasks/update': async ({ request, caller, context }) => {
    assertTasks(caller);
    await updateTask(request.params, context);
    return {};
  },
  'tasks/cancel': async ({ request, caller, context }) => {
    assertTasks(caller);
    await cancelTask(request.params, context);
    return {};
  },
  'subscriptions/listen': ({ request, caller, options, context }) =>
    openListen(request.id, request.params, caller, options, context),
};

const older: Readonly<Record<string, Method>> = {
  ...shared,
  initialize: async ({ request, options, caller }) => {
    const { protocolVersion, capabilities: abilities } = request.params;
    if (typeof protocolVersion !== 'string' || !isJsonObject(abilities))
      throw invalidParams('Cannot initialize: protocolVersion or capabilities is missing');
    const version = negotiatedVersion(protocolVersion);
    const result = {
      ...{ protocolVersion: version, serverInfo, capabilities: capabilities(options) },
      ...(options.instructions && { instructions: options.instructions }),
    };
    const headers = { 'mcp-session-id': newConnection(version, abilities) };
    return new Reply(response(request.id, result, caller), { headers });
  },
  ping: async () => ({}),
  'logging/setLevel': async ({ request, caller, context }) => {
    const level = parseLevel(request.params['level'] ?? null);
    if (level !== undefined)
      await changeConnection(caller, { type: 'mcp_level_set', level }, context);
    return {};
  },
  'resources/subscribe': async ({ request, options, caller, context }) => {
    await subscribe(request.params['uri'], options, caller, context);
    return {};
  },
  'resources/unsubscribe': async ({ request, caller, context }) => {
    await unsubscribe(request.params['uri'], caller, context);
    return {};
  },
};

/**
 * The methods that can change something. The server always sends their replies. It refuses replies to other
 * methods if the caller has too many unread replies.
 */
const changing: ReadonlySet<string> = new Set(['tools/call', 'tasks/update', 'tasks/cancel']);

function capabilities({ prompts = [] }: McpOptions): JsonObject {
  return {
    tools: {},
    resources: { subscribe: true },
    logging: {},
    completions: {},
    ...(prompts.length > 0 && { prompts: {} }),
  };
}

/** Handles a request. Throws `McpError` or `ServerError`. */
export async function handleRequest(exchange: Exchange): Promise<Reply | StreamReply> {
  const { request, caller, context, options } = exchange;
  const methods = caller.isModern ? modern : older;
  const hasMethod =
    Object.hasOwn(methods, request.method) &&
    (!request.method.startsWith('prompts/') || (options.prompts ?? []).length > 0);
  const method = hasMethod ? methods[request.method] : undefined;
  if (method === undefined) {
    const message = `Cannot find the method ${request.method.slice(0, 128)} in version ${caller.version} of MCP`;
    throw new McpError(mcpCodes.noMethod, message, { status: caller.isModern ? 404 : 200 });
  }
  context.labelRequest(request.method);
  const result = await method(exchange);
  if (isReply(result)) return result;
  return jsonReply(response(request.id, result, caller), 200, !changing.has(request.method));
}

function isReply(result: Result): result is Reply | StreamReply {
  return result instanceof Reply || 'write' in result;
}

async function callTool({ request, caller, context }: Exchange): Promise<Result> {
  const { id, params } = request;
  try {
    const opened = await openCall(params, caller, context);
    const isResumed = params['requestState'] !== undefined;
    if (caller.hasTasks && opened.tool.isLong && isResumed === opened.tool.asksFirst)
      return createdTask(opened.question);
    const token = field(field(params, '_meta'), 'progressToken');
    const progressToken = isMcpId(token) ? token : undefined;
    // A tool that names its questions gets answers that came with the call.
    const answers = isResumed ? new Map() : readAnswers(params);
    const logLevel = await levelOf(caller, context);
    return streamCall(opened, { id, caller, progressToken, answers, logLevel }, context);
  } catch (error) {
    if (error instanceof CallProblem) return errorResult(error.message);
    throw error;
  }
}
