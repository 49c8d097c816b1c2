import { ServerError, type ServerErrorCode } from '../../contract/server-error.ts';
import type { Answer, Ref } from '../../contract/service.ts';
import { Reply, type Route, type RouteContext, route, StreamReply } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { agentIdParams, agentNameParams } from '../route-schemas.ts';
import { type RpcResult, rpcBodySchema, rpcMethods, rpcReplySchema } from './rpc-methods.ts';
import {
  RpcError,
  type RpcId,
  type RpcRequest,
  readRpcRequest,
  rpcCodes,
  rpcErrorBody,
} from './rpc-request.ts';

const rpc = {
  method: 'POST',
  headers: ['idempotency-key'],
  body: rpcBodySchema,
  readsBody: true,
  reply: rpcReplySchema,
} as const;

/** The JSON-RPC routes of an agent. One finds the agent by its id, and one by its name. */
export const agentRpcRoutes: readonly Route[] = [
  route({
    ...rpc,
    path: '/agents/{agent_id}/rpc',
    summary:
      'Send a JSON-RPC request to an agent. message/send with `stream: true` returns one JSON object per line',
    params: agentIdParams,
    handle: ({ params }, context) => handleRpc({ id: params.agent_id }, context),
  }),
  route({
    ...rpc,
    path: '/agents/name/{agent_name}/rpc',
    summary:
      'Send a JSON-RPC request to an agent by its name. message/send with `stream: true` returns one JSON object per line',
    params: agentNameParams,
    handle: ({ params }, context) => handleRpc({ name: params.agent_name }, context),
  }),
];

/** Errors with these codes get an HTTP error status, for clients that check only the status. */
const httpErrorCodes: ReadonlySet<ServerErrorCode> = new Set<ServerErrorCode>([
  'unauthorized',
  'forbidden',
  'not_found',
  'rate_limited',
  'unavailable',
]);

async function handleRpc(agent: Ref, context: RouteContext): Promise<Reply | StreamReply> {
  const { id: agentId } = await context.service.agents.get(agent);
  let request: RpcRequest | undefined;
  try {
    request = readRpcRequest(context.bytes, context.limits);
    const outcome = await callMethod(agentId, request, context);
    return toReply(outcome, request, context);
  } catch (error) {
    const refusal = error instanceof RpcError ? error : context.toServerError(error);
    if (request?.isNotification) return new Reply(undefined, { status: 204 });
    if (refusal instanceof ServerError && httpErrorCodes.has(refusal.code)) throw refusal;
    const requestId = refusal instanceof RpcError ? refusal.id : (request?.id ?? null);
    return envelope(null, rpcErrorBody(refusal), requestId);
  }
}

function callMethod(
  agentId: string,
  request: RpcRequest,
  context: RouteContext,
): Promise<RpcResult> {
  const method = rpcMethods.get(request.method);
  if (method === undefined) {
    const known = [...rpcMethods.keys()].join(', ');
    const message = `Cannot find this method. Known methods: ${known}`;
    throw new RpcError(rpcCodes.noMethod, message, request.id);
  }
  context.labelRequest(request.method);
  return method(agentId, request.params, context);
}

function toReply(
  outcome: RpcResult,
  { id: requestId, isNotification }: RpcRequest,
  context: RouteContext,
): Reply | StreamReply {
  if (isNotification) return new Reply(undefined, { status: 204 });
  return outcome.kind === 'stream'
    ? rpcStream(outcome.answer, requestId, context)
    : envelope(outcome.value, null, requestId);
}

function envelope(result: unknown, error: object | null, requestId: RpcId): Reply {
  return new Reply({ jsonrpc: '2.0', result, error, id: requestId });
}

/** Streams an answer with one JSON-RPC envelope per line. If the answer fails, the error is the last line. */
function rpcStream(answer: Answer, id: RpcId, context: RouteContext): StreamReply {
  const { toServerError } = context;
  const envelope = (result: unknown, error: unknown) =>
    `${JSON.stringify({ jsonrpc: '2.0', result, error, id })}\n`;
  return new StreamReply((response) => {
    response.writeHead(200, {
      'content-type': 'application/x-ndjson',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    response.flushHeaders();
    return writeLines(response, answer.updates(), {
      context,
      line: (update) => envelope(update, null),
      errorLine: (error) => envelope(null, rpcErrorBody(toServerError(error))),
    });
  });
}
