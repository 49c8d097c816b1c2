import { ServerError, type ServerErrorCode } from '../../../contract/server-error.ts';
import { errorReply } from '../../../http/error-reply.ts';
import { Reply } from '../../../http/route.ts';
import { RpcError, type RpcId, rpcCodes } from '../../rpc/rpc-request.ts';

/** An error of A2A: its JSON-RPC code, its HTTP status, and its name in `google.rpc.Code`. */
type ErrorBinding = readonly [rpcCode: number, status: number, name: string];

/** The errors of A2A, by the reason that their details contain. */
const bindings = {
  TASK_NOT_FOUND: [-32_001, 404, 'NOT_FOUND'],
  TASK_NOT_CANCELABLE: [-32_002, 409, 'FAILED_PRECONDITION'],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32_003, 400, 'UNIMPLEMENTED'],
  UNSUPPORTED_OPERATION: [-32_004, 400, 'UNIMPLEMENTED'],
  CONTENT_TYPE_NOT_SUPPORTED: [-32_005, 415, 'INVALID_ARGUMENT'],
  VERSION_NOT_SUPPORTED: [-32_009, 400, 'UNIMPLEMENTED'],
  INVALID_PARAMS: [rpcCodes.invalidParams, 400, 'INVALID_ARGUMENT'],
} as const satisfies Readonly<Record<string, ErrorBinding>>;

type A2aReason = keyof typeof bindings;

/** The codes of the server for the errors of A2A. They decide what the request log shows. */
const serverCodes: Readonly<Record<A2aReason, ServerErrorCode>> = {
  TASK_NOT_FOUND: 'not_found',
  TASK_NOT_CANCELABLE: 'bad_state',
  PUSH_NOTIFICATION_NOT_SUPPORTED: 'bad_state',
  UNSUPPORTED_OPERATION: 'bad_state',
  CONTENT_TYPE_NOT_SUPPORTED: 'unsupported_media_type',
  VERSION_NOT_SUPPORTED: 'bad_request',
  INVALID_PARAMS: 'invalid',
};

/** Returns an error of A2A. */
export function a2aError(reason: A2aReason, message: string): ServerError {
  return new ServerError(serverCodes[reason], message, {}, { details: { reason } });
}

export function invalidParams(message: string): ServerError {
  return a2aError('INVALID_PARAMS', message);
}

export function taskNotFound(): ServerError {
  return a2aError('TASK_NOT_FOUND', 'Cannot find this task');
}

/** The reasons for errors of the server that A2A does not name. */
const others: Partial<Record<ServerErrorCode, A2aReason>> = {
  bad_request: 'INVALID_PARAMS',
  invalid: 'INVALID_PARAMS',
  too_large: 'INVALID_PARAMS',
  conflict: 'INVALID_PARAMS',
  bad_state: 'UNSUPPORTED_OPERATION',
  unsupported_media_type: 'CONTENT_TYPE_NOT_SUPPORTED',
};

/** The names in `google.rpc.Code` for errors that are not in A2A. */
const statusNames: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

function isReason(reason: unknown): reason is A2aReason {
  return typeof reason === 'string' && Object.hasOwn(bindings, reason);
}

/** Describes an error in the terms of A2A. */
function describe(error: ServerError) {
  const { details, code, status } = error;
  const given = details?.['reason'];
  const reason = isReason(given) ? given : others[code];
  if (reason === undefined) {
    const name = statusNames[status] ?? 'INTERNAL';
    return { binding: [rpcCodes.internal, status, name] as const, reason: code.toUpperCase() };
  }
  // A body that is too large keeps its status, because the server then closes the connection.
  const [rpcCode, own, name] = bindings[reason];
  return { binding: [rpcCode, status === 413 ? 413 : own, name] as const, reason };
}

function errorInfo(reason: string): object {
  const type = 'type.googleapis.com/google.rpc.ErrorInfo';
  return { '@type': type, reason, domain: 'a2a-protocol.org' };
}

/** Returns the error object of a JSON-RPC response. */
export function rpcError(error: ServerError | RpcError): object {
  const { message } = error;
  if (error instanceof RpcError) return { code: error.code, message };
  const { binding, reason } = describe(error);
  return { code: binding[0], message, data: [errorInfo(reason)] };
}

/** Returns the body of an error of the HTTP+JSON binding. */
export function httpError(error: ServerError): object {
  const { binding, reason } = describe(error);
  const [, code, status] = binding;
  return { error: { code, status, message: error.message, details: [errorInfo(reason)] } };
}

/** The media type of bodies of the HTTP+JSON binding. */
export const a2aJson = 'application/a2a+json';

/** Converts an error to a reply of the HTTP+JSON binding. */
export function httpErrorReply(error: ServerError): Reply {
  const { headers } = errorReply(error);
  const { binding } = describe(error);
  const type = { 'content-type': a2aJson };
  return new Reply(httpError(error), { status: binding[1], headers: { ...headers, ...type } });
}

/** The statuses that JSON-RPC replies have too, because proxies and clients act on them. */
const transportStatuses: readonly number[] = [401, 403, 404, 405, 413, 415, 421, 429, 503];

/** Converts an error before the request was read to a reply of the JSON-RPC binding. */
function rpcErrorReply(error: ServerError): Reply {
  const { headers, status = 500 } = errorReply(error);
  const known = transportStatuses.includes(status) ? { status } : {};
  return new Reply(rpcEnvelope(null, { error: rpcError(error) }), { ...known, headers });
}

/** Returns a response of JSON-RPC. */
export function rpcEnvelope(id: RpcId, outcome: object): object {
  return { jsonrpc: '2.0', id, ...outcome };
}

const a2aPath = /^\/agents\/name\/[^/]+\/a2a(\/.*)?$/;

/** Returns how errors of a path are formatted. Returns undefined if the path does not belong to A2A. */
export function a2aErrorFormat(path: string): ((error: ServerError) => Reply) | undefined {
  const found = a2aPath.exec(path);
  if (found === null) return undefined;
  return found[1] === undefined ? rpcErrorReply : httpErrorReply;
}
