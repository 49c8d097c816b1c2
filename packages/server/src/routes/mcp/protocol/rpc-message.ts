import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import type { HttpLimits } from '../../../http/http-limits.ts';
import { readJson } from '../../../http/request-input.ts';
import { rpcCodes } from '../../rpc/rpc-request.ts';

export type McpId = string | number;

/** A message of a client. */
export type McpMessage =
  | {
      readonly kind: 'request';
      readonly id: McpId;
      readonly method: string;
      readonly params: JsonObject;
    }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  /** The answer to a request of the server. `result` is undefined if the client failed. */
  | { readonly kind: 'response'; readonly id: McpId; readonly result: JsonObject | undefined };

export type McpRequest = Extract<McpMessage, { readonly kind: 'request' }>;

/** The codes of errors. The codes from -32020 on belong to MCP. */
export const mcpCodes = {
  ...rpcCodes,
  /** An error of this server that no other code describes. */
  failed: -32_000,
  /** A resource that does not exist, before 2026-07-28. */
  noResource: -32_002,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const;

/** An error of the protocol. */
export class McpError extends Error {
  readonly code: number;
  readonly data: JsonObject | undefined;
  /** The HTTP status of the reply. */
  readonly status: number;

  constructor(
    code: number,
    message: string,
    { data, status = 200 }: { readonly data?: JsonObject; readonly status?: number } = {},
  ) {
    super(message);
    this.code = code;
    this.data = data;
    this.status = status;
  }
}

export function invalidParams(message: string, status = 200): McpError {
  return new McpError(mcpCodes.invalidParams, message, { status });
}

/** Returns the message of an error. */
export function errorMessage(id: McpId | undefined, { code, message, data }: McpError): object {
  const error = { code, message, ...(data && { data }) };
  // An error without an id is about a message that the server could not read.
  return { jsonrpc: '2.0', id: id ?? null, error };
}

/** Maximum length of an id that is a text. Ids are part of the ids of events. */
const maxIdLength = 256;

/** Reads the body of a request. Throws `McpError`. */
export function readMessage(bytes: Uint8Array | undefined, limits: HttpLimits): McpMessage {
  const body = readJson(bytes ?? new Uint8Array(), limits);
  if (!body.ok)
    throw new McpError(mcpCodes.parse, `Cannot read the message: ${body.why}`, { status: 400 });
  const { value } = body;
  if (Array.isArray(value)) throw invalid('it is a batch. Send the messages one by one');
  if (!isJsonObject(value)) throw invalid('it is not an object');
  const own = (name: string) => (Object.hasOwn(value, name) ? value[name] : undefined);
  if (own('jsonrpc') !== '2.0') throw invalid('its jsonrpc is not "2.0"');
  const [id, method] = [own('id'), own('method')];
  if (id !== undefined && !isMcpId(id))
    throw invalid(`its id is not an integer or a text of 1 to ${maxIdLength} characters`);
  if (method === undefined) {
    const result = own('result');
    if (id === undefined || (result === undefined && own('error') === undefined))
      throw invalid('it is no request, no notification and no response');
    return { kind: 'response', id, result: isJsonObject(result) ? result : undefined };
  }
  if (typeof method !== 'string') throw invalid('its method is not a text');
  const params = own('params') ?? {};
  if (!isJsonObject(params)) throw invalid('its params are not an object');
  return id === undefined
    ? { kind: 'notification', method, params }
    : { kind: 'request', id, method, params };
}

function invalid(why: string): McpError {
  return new McpError(mcpCodes.invalidRequest, `Cannot accept the message: ${why}`, {
    status: 400,
  });
}

export function isMcpId(value: unknown): value is McpId {
  if (typeof value === 'string') return value.length > 0 && value.length <= maxIdLength;
  return Number.isSafeInteger(value);
}

/** Returns a field of an object. Returns undefined if the value is not an object. */
export function field(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Reads a list of texts. Throws if the value is something else. A missing value is an empty list. */
export function parseTexts(
  value: JsonValue | undefined,
  name: string,
  most: number,
): readonly string[] {
  if (value === undefined) return [];
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
  if (isList && value.length <= most) return value as readonly string[];
  throw invalidParams(`Cannot read ${name}: it is not a list of at most ${most} texts`);
}
