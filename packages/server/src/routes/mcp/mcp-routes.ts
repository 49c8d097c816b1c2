import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';
import { Reply, type Route, type RouteContext, route, type StreamReply } from '../../http/route.ts';
import { levelOf } from './follow/connection.ts';
import { connectionStream, isConnectionEvent } from './follow/connection-stream.ts';
import { handleRequest } from './methods.ts';
import { findRun, findTool } from './open-call.ts';
import { readCaller } from './protocol/caller.ts';
import {
  errorMessage,
  field,
  isMcpId,
  McpError,
  type McpMessage,
  readMessage,
} from './protocol/rpc-message.ts';
import { parseQuestionId, submitAnswers } from './questions.ts';
import { optionsFor } from './resources.ts';
import type { OfferedTool } from './tool-list.ts';
import { cancelCall, jsonReply, parseEventId, streamCall, toMcpError } from './write-call.ts';

const message = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).nullish(),
});

/**
 * The endpoint for clients of MCP, over streamable HTTP. A tool is an agent, or a tool of an agent without a
 * model. A call is a run of a session, and resources are sessions and their blobs.
 */
export const mcpRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/mcp',
    summary:
      'Send a message of the Model Context Protocol (2026-07-28, 2025-11-25 or 2025-06-18). The reply to a call is a stream of events',
    body: z.record(z.string(), z.unknown()),
    readsBody: true,
    reply: message,
    handle: (_, context) => handleMessage(context),
  }),
  route({
    method: 'GET',
    path: '/mcp',
    summary:
      'Open the stream of a connection of the Model Context Protocol (2025-11-25 or 2025-06-18), or continue the stream of a call after the event in the header Last-Event-ID',
    headers: ['last-event-id'],
    reply: message,
    replyType: 'text/event-stream',
    handle: (_, context) => openStream(context),
  }),
];

async function handleMessage(context: RouteContext): Promise<Reply | StreamReply> {
  let sent: McpMessage | undefined;
  try {
    sent = readMessage(context.bytes, context.limits);
    const caller = readCaller(sent, context.headers);
    if (sent.kind === 'request')
      return await handleRequest({ request: sent, caller, options: optionsFor(context), context });
    if (sent.kind === 'response') await answerQuestion(sent, context);
    if (sent.kind === 'notification' && sent.method === 'notifications/cancelled') {
      const id = field(sent.params, 'requestId');
      const { connection } = caller;
      if (connection !== undefined && isMcpId(id)) await cancelCall(connection, id, context.log);
    }
    return new Reply(undefined, { status: 202 });
  } catch (error) {
    const problem = toMcpError(error, context);
    const id = sent?.kind === 'request' ? sent.id : undefined;
    const status = error instanceof McpError ? error.status : statusOf(error, context);
    return jsonReply(errorMessage(id, problem), status);
  }
}

/** Returns the HTTP status of an error, for clients that check the status. */
function statusOf(error: unknown, { toServerError }: RouteContext): number {
  const { status } = toServerError(error);
  return [401, 403, 429, 503].includes(status) ? status : 200;
}

/** Passes the answer of a user to the session that asked. Unknown questions are ignored. */
async function answerQuestion(
  { id, result }: Extract<McpMessage, { readonly kind: 'response' }>,
  context: RouteContext,
): Promise<void> {
  const asked = parseQuestionId(id);
  if (asked === undefined) return;
  try {
    await context.service.tasks.get({ id: asked.taskId });
    await submitAnswers(asked.taskId, new Map([[asked.callId, result]]), context);
  } catch (error) {
    if (error instanceof ServerError && error.code === 'not_found') return;
    throw error;
  }
}

/** Opens or continues a stream. Errors of the protocol are messages, as in replies to POST. */
async function openStream(context: RouteContext): Promise<Reply | StreamReply> {
  try {
    return await resumeStream(context);
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    return jsonReply(errorMessage(undefined, error), error.status);
  }
}

/** Continues a stream of a version before 2026-07-28. The id of the event names the run and the request. */
async function resumeStream(context: RouteContext): Promise<StreamReply> {
  const { headers } = context;
  const last =
    headers['last-event-id'] === undefined ? undefined : String(headers['last-event-id']);
  const isCall = last !== undefined && !isConnectionEvent(last);
  const place = isCall ? parseEventId(last) : undefined;
  const { isReadOnly } = context.grant;
  if (place === undefined && (isCall || isReadOnly || headers['mcp-session-id'] === undefined)) {
    const why = 'This server opens streams only for calls and connections. Send messages with POST';
    throw new ServerError('method_not_allowed', why, {}, { details: { allow: 'POST' } });
  }
  const caller = readCaller({ kind: 'notification', method: 'resume', params: {} }, headers);
  if (place === undefined && caller.connection !== undefined)
    return connectionStream(caller.connection, last, optionsFor(context), context);
  if (caller.isModern || place === undefined)
    throw new ServerError(
      'invalid',
      `Cannot continue a stream in version ${caller.version} of MCP`,
    );
  const { run, tool: name, id, token, number, told } = place;
  const question = await findRun({ taskId: run[0], offset: run[1] }, context);
  if (question === undefined || !isMcpId(id))
    throw new ServerError('not_found', 'Cannot continue this stream: its session is gone');
  const tool = await findTool(name, context).catch(() => undefined);
  if (tool === undefined || !(await isSessionOf(tool, run[0], context)))
    throw new ServerError('not_found', 'Cannot continue this stream: its tool is gone');
  const opened = { tool, call: { name, arguments: {} }, question };
  const progressToken = isMcpId(token) ? token : undefined;
  // A client with a read-only token can invent an event id. Its request must therefore not change anything.
  const logLevel = await levelOf(caller, context);
  const more = { logLevel, after: number, told, isReadOnly };
  return streamCall(opened, { id, caller, progressToken, ...more }, context);
}

/** True if a call of this tool created the session. */
async function isSessionOf(
  { agent, called }: OfferedTool,
  taskId: string,
  { service }: RouteContext,
): Promise<boolean> {
  const { agents, task_metadata: metadata } = await service.tasks.get({ id: taskId });
  if (!agents?.some(({ id }) => id === agent.id)) return false;
  return called === undefined || (metadata?.['title'] === called && metadata['archived'] === true);
}
