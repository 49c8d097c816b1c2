import type { ServerError } from '../../contract/server-error.ts';
import type { Answer } from '../../contract/service.ts';
import { StreamReply } from '../../http/reply.ts';
import { writeLines } from '../../http/write-lines.ts';
import { type RpcId, rpcError } from './rpc-request.ts';

/** An answer as it grows: one envelope a line, and an error, where there is one, as the last. */
export function rpcStream(
  answer: Answer,
  id: RpcId,
  options: {
    readonly closing: AbortSignal;
    readonly toRefusal: (error: unknown) => ServerError;
  },
): StreamReply {
  const { closing, toRefusal } = options;
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
      errorLine: (error) => envelope(null, rpcError(toRefusal(error))),
    });
  });
}
