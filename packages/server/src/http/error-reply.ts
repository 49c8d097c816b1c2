import { ServerError } from '../contract/server-error.ts';
import { Reply } from './reply.ts';

/** Agentex's number for what a schema refuses. */
const invalidCode = 10_422;

/** A refusal in the shape that clients of Agentex know, and beside it what programs can go by. */
export function errorReply(error: ServerError): Reply {
  const { status, message, code, details, retryAfterMs } = error;
  const own = { code, ...details };
  const body =
    status === 422
      ? { status_code: invalidCode, message, data: null, error: own }
      : { message, code: status, data: null, error: own };
  const retry = retryAfterMs === undefined ? {} : { 'retry-after': secondsOf(retryAfterMs) };
  const challenge = status === 401 ? { 'www-authenticate': 'Bearer' } : {};
  const allow = status === 405 ? { allow: String(details?.['allow'] ?? '') } : {};
  return new Reply(status === 401 ? { ...body, detail: message } : body, {
    status,
    headers: { ...retry, ...challenge, ...allow },
  });
}

function secondsOf(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}

/** What is told of an error that nobody foresaw: nothing, for it may hold anything. */
export function unforeseen(requestId: string): ServerError {
  const message = `Cannot answer request ${requestId}: the server failed. Its log has more under this id`;
  return new ServerError('internal', message, { requestId });
}
