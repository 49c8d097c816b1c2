import type { JsonObject } from '@millrace/core';
import { encodeComment, encodeFrame, sseHeaders } from '@millrace/core/streams';
import type { HttpResponse } from '../../contract/http.ts';
import type { ServerError } from '../../contract/server-error.ts';
import { Reply, StreamReply } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { whileConnected } from '../openai/write-response.ts';
import { RpcError, type RpcId } from '../rpc/rpc-request.ts';
import type { A2aContext } from './open-task.ts';
import type { A2aResult } from './operations.ts';
import { a2aJson, httpError, httpErrorReply, rpcEnvelope, rpcError } from './protocol/a2a-error.ts';

/** How a protocol binding writes results and errors. */
export interface Binding {
  readonly contentType: string;
  result(value: JsonObject): object;
  /** Returns the reply for an error. */
  failure(error: ServerError | RpcError): Reply;
  /** Returns the last event of a stream that fails. */
  errorFrame(error: ServerError): string;
}

/** The JSON-RPC binding. Each event of a stream is a response to the request. */
export function rpcBinding(id: RpcId): Binding {
  return {
    contentType: 'application/json; charset=utf-8',
    result: (value) => rpcEnvelope(id, { result: value }),
    failure: (error) =>
      new Reply(rpcEnvelope(error instanceof RpcError ? error.id : id, { error: rpcError(error) })),
    errorFrame: (error) =>
      encodeFrame({ data: JSON.stringify(rpcEnvelope(id, { error: rpcError(error) })) }),
  };
}

/** The HTTP+JSON binding. */
export const httpBinding: Binding = {
  contentType: a2aJson,
  result: (value) => value,
  failure: (error) => httpErrorReply(error as ServerError),
  errorFrame: (error) => encodeFrame({ event: 'error', data: JSON.stringify(httpError(error)) }),
};

/** Writes the result of an operation. A closed connection does not stop the run. */
export function writeResult(
  result: A2aResult,
  binding: Binding,
  context: A2aContext,
): Reply | StreamReply {
  const { contentType } = binding;
  if (result.kind === 'value') {
    const { isRefusable } = result;
    const headers = { 'content-type': contentType };
    return new Reply(binding.result(result.value), { headers, isRefusable });
  }
  const { clock, closing, toServerError, agent } = context;
  const opened = { question: result.question, agent: agent.name };
  const isRefusable = result.kind === 'stream' && result.isRefusable === true;
  const write = (response: HttpResponse) =>
    whileConnected(opened, response, { stopsOnClose: false }, context, async (signal) => {
      if (result.kind === 'wait') {
        const reply = await outcomeOf(result.wait(signal), binding, context);
        for (let full = context.full(); full; full = context.full()) await full;
        if (response.destroyed || (signal.aborted && !closing.aborted)) return;
        response.writeHead(reply.status ?? 200, { 'content-type': contentType, ...reply.headers });
        response.end(JSON.stringify(reply.body));
        return;
      }
      response.writeHead(200, { ...sseHeaders });
      response.flushHeaders();
      await writeLines(response, result.events(signal), {
        context,
        line: (event) => encodeFrame({ data: JSON.stringify(binding.result(event)) }),
        errorLine: (error) => binding.errorFrame(toServerError(error)),
        heartbeat: { clock, everyMs: 15_000, text: `${encodeComment('ping')}\n` },
      });
    });
  return new StreamReply(write, { isRefusable, isReplay: true });
}

async function outcomeOf(
  value: Promise<JsonObject>,
  binding: Binding,
  { toServerError }: A2aContext,
): Promise<Reply> {
  try {
    return new Reply(binding.result(await value));
  } catch (error) {
    return binding.failure(toServerError(error));
  }
}
