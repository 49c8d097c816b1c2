import type { JsonValue } from '@millrace/core';
import type { ServerError } from '../../contract/server-error.ts';
import type { HttpLimits } from '../../http/http-limits.ts';
import { readJson } from '../../http/request-input.ts';

export type RpcId = string | number | null;

export interface RpcRequest {
  readonly id: RpcId;
  /** It says that it is JSON-RPC and has no id: nobody waits for an answer. */
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

/** Why a request got no further, with the id that it had as far as that can be told. */
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
      'Cannot take a batch: send its requests one by one',
    );
  if (typeof value !== 'object' || value === null)
    throw new RpcError(rpcCodes.invalidRequest, 'Cannot take the request: it is no object');
  return toRpcRequest(value as Readonly<Record<string, JsonValue>>);
}

function toRpcRequest(value: Readonly<Record<string, JsonValue>>): RpcRequest {
  const own = (name: string) => (Object.hasOwn(value, name) ? value[name] : undefined);
  const [id, version, method] = [own('id'), own('jsonrpc'), own('method')];
  const known = isRpcId(id) ? id : null;
  const refuse = (why: string) =>
    new RpcError(rpcCodes.invalidRequest, `Cannot take the request: ${why}`, known);
  if (id !== undefined && !isRpcId(id)) throw refuse('its id is no text, whole number or null');
  // Clients of Agentex leave the version out.
  if (version !== undefined && version !== '2.0') throw refuse('its jsonrpc is not "2.0"');
  if (typeof method !== 'string') throw refuse('its method is no text');
  const isNotification = version !== undefined && id === undefined;
  return { id: known, isNotification, method, params: own('params') ?? {} };
}

function isRpcId(id: unknown): id is RpcId {
  return id === null || typeof id === 'string' || Number.isSafeInteger(id);
}

/** What is told of a refusal within the answer. */
export function rpcErrorBody(error: ServerError | RpcError): object {
  const { message } = error;
  if (error instanceof RpcError) return { code: error.code, message, data: null };
  const data = { code: error.code, ...error.details };
  return { code: error.rpcCode, message, data };
}
