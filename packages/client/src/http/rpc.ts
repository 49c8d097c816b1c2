import type { JsonObject, JsonValue } from '@millrace/core';
import { ClientError, type ClientErrorCode } from '../contract/client-error.ts';
import { type Call, type Http, textOf } from './http.ts';
import { asObject, asText, errorOf, parsed } from './refusal.ts';

interface RpcCall extends Pick<Call, 'what' | 'key' | 'signal' | 'isSafe'> {
  /** The name of the agent. */
  readonly agent: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** Sends a JSON-RPC request to an agent and returns the result. */
export async function rpc(http: Http, call: RpcCall): Promise<JsonValue> {
  const { value } = await http.json(asCall(call));
  return resultOf(value, call.what);
}

/**
 * Sends a JSON-RPC request whose response is a stream. The client closes this stream when it starts, because
 * the stream of the task also delivers the records.
 */
export async function startRpcStream(http: Http, call: RpcCall): Promise<void> {
  const value = await http.retried({ ...asCall(call), isPatient: true }, async (one) => {
    const response = await http.send(one);
    if (!response.ok) throw await errorOf(response, call.what);
    const type = response.headers.get('content-type') ?? '';
    if (!type.startsWith('application/x-ndjson')) return parsed(await textOf(response, one));
    // The work on the server continues without this connection.
    response.body?.cancel().catch(() => {});
    return null;
  });
  if (value !== null) resultOf(value, call.what);
}

function asCall({ agent, method, params, ...call }: RpcCall): Call {
  const path = `/agents/name/${encodeURIComponent(agent)}/rpc`;
  return { ...call, method: 'POST', path, body: { jsonrpc: '2.0', id: 1, method, params } };
}

/**
 * Returns the result of a JSON-RPC response. If the response contains an error, it throws this error. Such a
 * response has the HTTP status 200.
 */
function resultOf(answer: JsonValue | undefined, what: string): JsonValue {
  const { result, error } = asObject(answer);
  if (error === undefined || error === null) return result ?? null;
  const { message, data } = asObject(error);
  const details = asObject(data);
  const code = (asText(details['code']) ?? 'bad_answer') as ClientErrorCode;
  throw new ClientError(code, asText(message) ?? `Cannot ${what}`, {}, { details });
}
