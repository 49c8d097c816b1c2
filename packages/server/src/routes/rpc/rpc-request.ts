import type { JsonValue } from '@millrace/core';
import type { ServerError } from '../../contract/server-error.ts';
import type { HttpLimits } from '../../http/http-limits.ts';
import { readJson } from '../../http/request-input.ts';

export type RpcId = string | number | null;

export interface RpcRequest {
  readonly id: RpcId;
  /** True if the request has a version and no id. The client then expects no response. */
  readonly isNotification: boolean;
  readonly method: string;
  readonly params: JsonValue;
}

export const rpcCodes = {
  parse: -32_700,
  invalidRequest: -32_600,
  noMethod: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
} as const;

/** An error in a JSON-RPC request, with the request's id if it is known. */
export class RpcError extends Error {
  readonly code: number;
  readonly id: RpcId;

  constructor(code: number, message: string, id: RpcId = null) {
    super(message);
    this.code = code;
    this.id = id;
  }
}

export function readRpcRequest(bytes: Uint8Array | undefined, limits: HttpLimits): RpcRequest {
  const body = readJson(bytes ?? new Uint8Array(), limits);
  if (!body.ok) throw new RpcError(rpcCodes.parse, `Cannot read the request: ${body.why}`);
  const { value } = body;
  if (Array.isArray(value))
    throw new RpcError(
      rpcCodes.invalidRequest,
      'Cannot accept a batch. Send the requests one by one',
    );
  if (typeof value !== 'object' || value === null)
    throw new RpcError(rpcCodes.invalidRequest, 'Cannot accept the request: it is not an object');
  return toRpcRequest(value as Readonly<Record<string, JsonValue>>);
}

const fieldNames: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);

function toRpcRequest(value: Readonly<Record<string, JsonValue>>): RpcRequest {
  const own = (name: string) => (Object.hasOwn(value, name) ? value[name] : undefined);
  const [id, version, method] = [own('id'), own('jsonrpc'), own('method')];
  const known = isRpcId(id) ? id : null;
  const fail = (why: string) =>
    new RpcError(rpcCodes.invalidRequest, `Cannot accept the request: ${why}`, known);
  if (id !== undefined && !isRpcId(id)) throw fail('its id is not a string, an integer or null');
  // The version is optional, because Agentex clients do not send it.
  if (version !== undefined && version !== '2.0') throw fail('its jsonrpc is not "2.0"');
  if (typeof method !== 'string') throw fail('its method is not a string');
  // Refuses unknown fields, because the client may expect them to have an effect.
  if (Object.keys(value).some((name) => !fieldNames.has(name)))
    throw fail('it has other fields than jsonrpc, id, method and params');
  const isNotification = version !== undefined && id === undefined;
  return { id: known, isNotification, method, params: own('params') ?? {} };
}

function isRpcId(id: unknown): id is RpcId {
  return id === null || typeof id === 'string' || Number.isSafeInteger(id);
}

/** Returns the error object of a JSON-RPC response. */
export function rpcErrorBody(error: ServerError | RpcError): object {
  const { message } = error;
  if (error instanceof RpcError) return { code: error.code, message, data: null };
  const data = { code: error.code, ...error.details };
  return { code: error.rpcCode, message, data };
}
