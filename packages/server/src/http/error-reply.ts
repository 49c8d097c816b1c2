import type { Socket } from 'node:net';
import { isMillraceError } from '@millrace/core';
import { ServerError, type ServerErrorCode } from '../contract/server-error.ts';
import { type Method, Reply, type Route } from './route.ts';

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
  const retry = retryAfterMs === undefined ? {} : { 'retry-after': toSeconds(retryAfterMs) };
  const challenge = status === 401 ? { 'www-authenticate': 'Bearer' } : {};
  const allow = status === 405 ? { allow: String(details?.['allow'] ?? '') } : {};
  return new Reply(status === 401 ? { ...body, detail: message } : body, {
    status,
    headers: { ...retry, ...challenge, ...allow },
  });
}

function toSeconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}

/** What is told of an error that nobody foresaw: nothing, for it may hold anything. */
export function internalError(requestId: string): ServerError {
  const message = `Cannot answer request ${requestId}: the server failed. Its log has more under this id`;
  return new ServerError('internal', message, { requestId });
}

/** Refusals of what is below, by the class that throws them, as what they mean to a caller. */
const serverCodes: Readonly<Record<string, Readonly<Record<string, ServerErrorCode>>>> = {
  RowsError: { conflict: 'conflict', bad_row: 'invalid', closed: 'unavailable' },
  LogError: {
    held: 'conflict',
    fenced: 'conflict',
    no_session: 'not_found',
    session_closed: 'bad_state',
    bad_offset: 'gone',
    bad_records: 'invalid',
    closed: 'unavailable',
  },
  AgentError: { no_such_call: 'bad_state', run_over: 'bad_state' },
  ProtocolError: { too_large: 'too_large' },
};

/** As a refusal that can be told; undefined where it is none, and nobody outside should know more. */
export function asServerError(error: unknown): ServerError | undefined {
  if (error instanceof ServerError) return error;
  if (!isMillraceError(error)) return undefined;
  const code = serverCodes[error.name]?.[error.code];
  return code && new ServerError(code, error.message, error.place, { cause: error });
}

/** What the framework refuses by itself, in our words. */
const fastifyErrors: Readonly<Record<string, readonly [ServerErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['too_large', 'Cannot take a body of this size. Send less at once'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'Cannot read a body of this type. Send `content-type: application/json`',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'bad_request',
    'Cannot read the body: it is not as long as its content-length says',
  ],
  // Whoever sent it is not there any more; nothing failed here.
  ECONNRESET: ['bad_request', 'Cannot read the body: the connection broke before its end'],
  FST_ERR_BAD_URL: ['bad_request', 'Cannot read the path: it is not percent-encoded as it should'],
};

export function fastifyError(error: unknown): ServerError | undefined {
  const { code = '', statusCode = 500 } = error as { code?: string; statusCode?: number };
  const known = fastifyErrors[code];
  if (known !== undefined) return new ServerError(...known);
  // Whatever else it holds against the request, as far as it is the request's fault.
  if (code.startsWith('FST_') && statusCode < 500)
    return new ServerError('bad_request', 'Cannot read the request. Check its head and its body');
  return undefined;
}

/** There is nothing at that path, or not for that method. */
export function routeNotFound(
  { method, url }: { readonly method: string; readonly url: string },
  routes: readonly Route[],
): ServerError {
  const path = url.split('?', 1)[0] ?? '';
  const allowed = methodsAt(path, routes);
  if (allowed.length === 0) {
    const message = 'Cannot find this path. /openapi.json has those that there are';
    return new ServerError('not_found', message);
  }
  const message = `Cannot ${method} here. This path takes ${allowed.join(', ')}`;
  const details = { allow: allowed.join(', ') };
  return new ServerError('method_not_allowed', message, {}, { details });
}

function methodsAt(path: string, routes: readonly Route[]): readonly Method[] {
  const found = routes.filter((route) => matchesPath(path, route.path));
  return [...new Set(found.map(({ method }) => method))];
}

function matchesPath(path: string, pattern: string): boolean {
  const asked = path.split('/');
  const steps = pattern.split('/');
  return (
    asked.length === steps.length &&
    steps.every((step, index) => step === asked[index] || (step.startsWith('{') && asked[index]))
  );
}

/** Says what was wrong with something that is no request, and hangs up. */
export function onClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const { status = 400, body } = errorReply(protocolError(error.code));
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${statusTexts[status] ?? 'Bad Request'}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  // Whoever goes on sending is not listened to.
  socket.destroySoon();
}

const statusTexts: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

function protocolError(code: string | undefined): ServerError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ServerError('headers_too_large', 'Cannot take headers of this size. Send fewer');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServerError(
        'request_timeout',
        'Cannot wait longer for the request. Send it faster',
      );
    default:
      return new ServerError('bad_request', 'Cannot read this as HTTP');
  }
}
