import type { Socket } from 'node:net';
import { isMillraceError } from '@millrace/core';
import { ServerError, type ServerErrorCode } from '../contract/server-error.ts';
import { type Method, Reply, type Route } from './route.ts';

/** The code that Agentex uses for validation errors. */
const invalidCode = 10_422;

/**
 * Converts an error to a reply in the format of Agentex. The additional field `error` contains the error
 * code and details.
 */
export function errorReply(error: ServerError): Reply {
  const { status, message, code, details, retryAfterMs } = error;
  const errorInfo = { code, ...details };
  const body =
    status === 422
      ? { status_code: invalidCode, message, data: null, error: errorInfo }
      : { message, code: status, data: null, error: errorInfo };
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

/**
 * Returns the error that a client receives for an unexpected failure. It has no details, because they may
 * contain private data.
 */
export function internalError(requestId: string): ServerError {
  const message = `Cannot answer request ${requestId}: the server failed. The server log has details under this id`;
  return new ServerError('internal', message, { requestId });
}

/** Maps the class and code of an error from a lower layer to the server's error code. */
const serverCodes: Readonly<Record<string, Readonly<Record<string, ServerErrorCode>>>> = {
  RowsError: { conflict: 'conflict', bad_row: 'invalid', closed: 'unavailable' },
  LogError: {
    held: 'conflict',
    fenced: 'conflict',
    no_session: 'not_found',
    session_closed: 'bad_state',
    bad_offset: 'gone',
    rewound: 'rewound',
    bad_records: 'invalid',
    too_large: 'too_large',
    closed: 'unavailable',
  },
  AgentError: { no_such_call: 'bad_state', already_decided: 'conflict', run_over: 'bad_state' },
  ProtocolError: { too_large: 'too_large' },
};

/**
 * Converts a known error to a `ServerError`. Returns undefined for an unexpected error, because clients must
 * not see its message.
 */
export function asServerError(error: unknown): ServerError | undefined {
  if (error instanceof ServerError) return error;
  if (!isMillraceError(error)) return undefined;
  if (error.code === 'storage_full') return storageFull(error);
  const code = serverCodes[error.name]?.[error.code];
  return code && new ServerError(code, error.message, error.place, { cause: error });
}

/**
 * Returns the error for full storage. It replaces the message of the store, because that message contains a
 * file path.
 */
function storageFull(cause: Error): ServerError {
  const message =
    'Cannot store this: the storage of the server is full. Nothing of this write was stored, and everything before it is. Try again when the operator has made room';
  return new ServerError('storage_full', message, {}, { cause });
}

/** Returns the error for a body with more bytes than `maxBodyBytes`. */
export function bodyTooLarge(): ServerError {
  return new ServerError('too_large', 'Cannot accept a body of this size. Send a smaller body');
}

/** Returns the error for a body that is not JSON. */
export function notJson(): ServerError {
  const message = 'Cannot read a body of this type. Send `content-type: application/json`';
  return new ServerError('unsupported_media_type', message);
}

/** Returns the error for a file upload that has the wrong content type. */
export function notBytes(): ServerError {
  const message =
    'Cannot read a file of this content type. Send `content-type: application/octet-stream`, and the type of the file in the query';
  return new ServerError('unsupported_media_type', message);
}

/** Returns the error for an upload while the server already receives `maxUploads` files. */
export function tooManyUploads(): ServerError {
  const message = 'Cannot receive more files at the same time. Try again later';
  return new ServerError('rate_limited', message, {}, { retryAfterMs: 1000 });
}

/** Returns the error for a body that did not arrive within `requestTimeoutMs`. */
export function bodyTimeout(): ServerError {
  const message = 'Cannot wait longer for the rest of the request. Send it faster';
  return new ServerError('request_timeout', message);
}

/** Returns the error for headers with more bytes than `maxHeaderBytes`. */
export function headersTooLarge(): ServerError {
  const message = 'Cannot accept headers of this size. Send fewer or shorter headers';
  return new ServerError('headers_too_large', message);
}

/**
 * Returns the error for an unknown path, or for a known path with a different method. `path` is undefined if
 * the request was not below the base path.
 */
export function routeNotFound(
  method: string,
  path: string | undefined,
  routes: readonly Route[],
): ServerError {
  const allowed = path === undefined || path.length > maxKnownPath ? [] : methodsAt(path, routes);
  if (allowed.length === 0) {
    const message = 'Cannot find this path. /openapi.json lists all paths';
    return new ServerError('not_found', message);
  }
  const message = `Cannot use ${method} here. This path accepts ${allowed.join(', ')}`;
  const details = { allow: allowed.join(', ') };
  return new ServerError('method_not_allowed', message, {}, { details });
}

/** Maximum length of a path that is compared with all routes. */
const maxKnownPath = 4096;

function methodsAt(path: string, routes: readonly Route[]): readonly Method[] {
  const found = routes.filter((route) => matchesPath(path, route.path));
  return [...new Set(found.map(({ method }) => method))];
}

function matchesPath(path: string, pattern: string): boolean {
  const requested = path.split('/');
  const steps = pattern.split('/');
  if (pattern.endsWith('*}')) return path.startsWith(pattern.slice(0, pattern.indexOf('{')));
  return (
    requested.length === steps.length &&
    steps.every(
      (step, index) => step === requested[index] || (step.startsWith('{') && requested[index]),
    )
  );
}

/** Sends an error for bytes that are not valid HTTP, and closes the connection. */
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
  // Closes the connection even if the client continues to send.
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
      return headersTooLarge();
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return bodyTimeout();
    default:
      return new ServerError('bad_request', 'Cannot read the request: it is not valid HTTP');
  }
}
