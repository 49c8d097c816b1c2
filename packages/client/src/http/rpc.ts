import type { JsonObject, JsonValue } from '@millrace/core';
import { ClientError, type ClientErrorCode } from '../client-error.ts';
import { type Call, type Http, textOf } from './http.ts';
import { asObject, asText, parsed, refusalOf } from './refusal.ts';

export interface RpcCall extends Pick<Call, 'what' | 'key' | 'signal' | 'isSafe'> {
  /** The agent's name. */
  readonly agent: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** JSON-RPC to an agent. */
export async function rpc(http: Http, call: RpcCall): Promise<JsonValue> {
  const { value } = await http.json(asCall(call));
  return resultOf(value, call.what);
}

/** The same, for what is answered with a stream: resolves when that begins, and leaves it. */
export async function rpcBegun(http: Http, call: RpcCall): Promise<void> {
  const value = await http.tried({ ...asCall(call), isPatient: true }, async (one) => {
    const response = await http.send(one);
    if (!response.ok) throw await refusalOf(response, call.what);
    const type = response.headers.get('content-type') ?? '';
    if (!type.startsWith('application/x-ndjson')) return parsed(await textOf(response, one));
    // The work goes on whoever looks, and what comes of it is in the task's own stream.
    response.body?.cancel().catch(() => {});
    return null;
  });
  if (value !== null) resultOf(value, call.what);
}

function asCall({ agent, method, params, ...call }: RpcCall): Call {
  const path = `/agents/name/${encodeURIComponent(agent)}/rpc`;
  return { ...call, method: 'POST', path, body: { jsonrpc: '2.0', id: 1, method, params } };
}

/** Refusals are told within an answer of 200. */
function resultOf(answer: JsonValue | undefined, what: string): JsonValue {
  const { result, error } = asObject(answer);
  if (error === undefined || error === null) return result ?? null;
  const { message, data } = asObject(error);
  const details = asObject(data);
  const code = (asText(details['code']) ?? 'bad_answer') as ClientErrorCode;
  throw new ClientError(code, asText(message) ?? `Cannot ${what}`, {}, { details });
}
