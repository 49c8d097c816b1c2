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

export const agentRpcRoutes: readonly Route[] = [
  route({
    ...rpc,
    path: '/agents/{agent_id}/rpc',
    summary: 'JSON-RPC to an agent; message/send with `stream: true` answers in lines',
    params: agentIdParams,
    handle: ({ params }, context) => handleRpc({ id: params.agent_id }, context),
  }),
  route({
    ...rpc,
    path: '/agents/name/{agent_name}/rpc',
    summary: 'JSON-RPC to an agent of a name; message/send with `stream: true` answers in lines',
    params: agentNameParams,
    handle: ({ params }, context) => handleRpc({ name: params.agent_name }, context),
  }),
];

/** These are told as HTTP has them: a client that looks no further must not take them for an answer. */
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
    const own = refusal instanceof RpcError ? refusal.id : (request?.id ?? null);
    return envelope(null, rpcErrorBody(refusal), own);
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
    const message = `Cannot find this method. There are ${known}`;
    throw new RpcError(rpcCodes.noMethod, message, request.id);
  }
  context.labelRequest(request.method);
  return method(agentId, request.params, context);
}

function toReply(
  outcome: RpcResult,
  { id: own, isNotification }: RpcRequest,
  context: RouteContext,
): Reply | StreamReply {
  if (isNotification) return new Reply(undefined, { status: 204 });
  return outcome.kind === 'stream'
    ? rpcStream(outcome.answer, own, context)
    : envelope(outcome.value, null, own);
}

function envelope(result: unknown, error: object | null, own: RpcId): Reply {
  return new Reply({ jsonrpc: '2.0', result, error, id: own });
}

/** An answer as it grows: one envelope a line, and an error, where there is one, as the last. */
function rpcStream(
  answer: Answer,
  id: RpcId,
  options: {
    readonly closing: AbortSignal;
    readonly toServerError: (error: unknown) => ServerError;
  },
): StreamReply {
  const { closing, toServerError } = options;
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
      closing,
      line: (update) => envelope(update, null),
      errorLine: (error) => envelope(null, rpcErrorBody(toServerError(error))),
    });
  });
}
