import { createHash, randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { z } from 'zod';
import { callMessage } from '../../agents/tool-agent.ts';
import { closedObject } from '../../contract/closed-object.ts';
import { jsonObjectSchema } from '../../contract/content.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { AgentInfo } from '../../contract/task.ts';
import { type Route, type RouteContext, requestMetadata, route } from '../../http/route.ts';
import { isNotFound } from '../../stores/row-access.ts';
import { id, taskIdParams } from '../route-schemas.ts';

const callSchema = closedObject({
  /** The tool call whose result shows the app. */
  tool_call_id: id,
  /** The name of the tool, as the MCP server of the app names it. */
  name: z.string().min(1).max(256),
  arguments: jsonObjectSchema,
});

/**
 * The route for tool calls of MCP apps. All calls of one app run in one task of the agent that the served agent
 * names as `appAgent`. It has the tools of the MCP servers and the permission policy, but no model.
 */
export const appCallRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/tasks/{task_id}/app-calls',
    summary: 'Call a tool for an MCP app of the task. The call runs in a task of its own',
    params: taskIdParams,
    headers: ['idempotency-key'],
    body: callSchema,
    status: 202,
    reply: z.object({ task_id: z.string(), tool_call_id: z.string() }),
    async handle({ params, body }, context) {
      const { service, log } = context;
      const task = await service.tasks.get({ id: params.task_id });
      const find = () => toolsOfApp(log, task.id, body.tool_call_id);
      const tools = await context.inTurn(find, 'refuse');
      const tool = Object.hasOwn(tools, body.name) ? tools[body.name] : undefined;
      if (typeof tool !== 'string') throw cannotCall(`it has no tool ${body.name.slice(0, 100)}`);
      const agent = await appAgentOf(task.agents ?? [], context);
      const child = await appTask(agent, { task: task.id, call: body.tool_call_id }, context);
      const { key = randomUUID(), trace } = requestMetadata(context);
      // The id follows from the key, so a repeated request returns the same call.
      const tool_call_id = `app_${hash(key)}`;
      const text = callMessage({ name: tool, arguments: body.arguments, id: tool_call_id });
      const content = { type: 'text', author: 'user', content: text } as const;
      const message = { type: 'message', content } as never;
      await service.tasks.submit(child, message, { key: tool_call_id, trace, isAppCall: true });
      return { task_id: child, tool_call_id };
    },
  }),
];

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/**
 * Returns the tools that the app of a tool call can call, from the log. The MCP client wrote them there when
 * the tool ran, so an app reaches only tools of its own server.
 */
async function toolsOfApp(log: Log, task: string, toolCallId: string): Promise<JsonObject> {
  const session = sessionId(task);
  const state = (await log.info(session)) && (await snapshot(log, session));
  const parts = state === undefined ? [] : transcript(state).flatMap((item) => item.parts);
  const result = parts.findLast(
    (part) => part.kind === 'tool_result' && part.toolCallId === toolCallId,
  );
  const app = result?.metadata?.['mcpApp'];
  const tools = isJsonObject(app) ? app['tools'] : undefined;
  if (isJsonObject(tools)) return tools;
  const message = `Cannot find an app in task ${task}: the result of call ${toolCallId.slice(0, 100)} has none`;
  throw new ServerError('not_found', message, { task });
}

async function appAgentOf(
  agents: readonly AgentInfo[],
  { service }: RouteContext,
): Promise<AgentInfo> {
  const name = agents[0]?.registration_metadata?.['app_agent'];
  if (typeof name !== 'string')
    throw cannotCall('the agent of this task runs no calls of apps. Serve it with appAgent');
  return service.agents.get({ name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new ServerError(
      'forbidden',
      'Cannot call a tool for an app with a token for one task or one agent. Use a token for everything',
    );
  });
}

/** Returns the task with the calls of an app. The first call creates it. */
async function appTask(
  { id: agentId }: AgentInfo,
  app: { readonly task: string; readonly call: string },
  { service, trace }: RouteContext,
): Promise<string> {
  const name = `app:${hash(`${app.task}\n${app.call}`)}`;
  const origin = { task_id: app.task, tool_call_id: app.call };
  const task_metadata = { archived: true, title: 'Calls of an app', app_of: origin };
  return (await service.tasks.create(agentId, { name, task_metadata }, { trace, isAppCall: true }))
    .id;
}

function cannotCall(why: string): ServerError {
  return new ServerError('invalid', `Cannot call a tool for this app: ${why}`);
}
