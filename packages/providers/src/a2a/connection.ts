import {
  ByteCollector,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from '@millrace/core';
import { ProviderError, type ProviderErrorKind } from '../contract/provider-error.ts';
import { IdleLimit } from '../transport/idle-limit.ts';
import { readSseData } from '../transport/sse-reader.ts';

/** The address of an agent, and the settings of requests to it. */
export interface ConnectionOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  /** Maximum time without a byte, in milliseconds. */
  readonly idleTimeoutMs: number;
}

/** The address of an agent, as its card describes it. */
interface AgentInterface {
  readonly url: string;
  readonly binding: 'JSONRPC' | 'HTTP+JSON';
  readonly isStreaming: boolean;
}

/** Maximum size of an event and of a reply, in bytes. */
const maxBytes = 16 * 2 ** 20;
const version = '1.0';

/** The paths of the operations in the HTTP+JSON binding. */
const httpPaths: Readonly<Record<string, (id: string) => readonly [string, string]>> = {
  SendMessage: () => ['POST', '/message:send'],
  SendStreamingMessage: () => ['POST', '/message:stream'],
  GetTask: (id) => ['GET', `/tasks/${id}`],
  CancelTask: (id) => ['POST', `/tasks/${id}:cancel`],
  SubscribeToTask: (id) => ['POST', `/tasks/${id}:subscribe`],
};

export function a2aFault(
  kind: ProviderErrorKind,
  message: string,
  more: { readonly status?: number; readonly code?: string; readonly cause?: unknown } = {},
): ProviderError {
  const { status, code, cause } = more;
  return new ProviderError(kind, message, { provider: 'a2a', status, providerCode: code, cause });
}

/** Sends requests to one A2A agent. It reads the card of the agent once. */
export class AgentConnection {
  readonly #options: ConnectionOptions;
  #agent: Promise<AgentInterface> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Sends a message. Yields one event if the agent cannot stream. */
  async *send(params: JsonObject, signal: AbortSignal): AsyncGenerator<JsonObject> {
    const { isStreaming } = await this.#interface(signal);
    yield* this.events(isStreaming ? 'SendStreamingMessage' : 'SendMessage', params, signal);
  }

  /** Calls an operation that does not stream. */
  async call(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    for await (const result of this.events(method, params, signal)) return result;
    throw a2aFault('protocol_error', 'The agent sent an empty reply');
  }

  /** Calls an operation. Yields its result, or its events. */
  async *events(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): AsyncGenerator<JsonObject> {
    const agent = await this.#interface(signal);
    const isRpc = agent.binding === 'JSONRPC';
    const id = encodeURIComponent(String(params['id'] ?? ''));
    const [verb, path] = isRpc ? ['POST', ''] : (httpPaths[method]?.(id) ?? ['POST', '']);
    const { id: _, ...rest } = params;
    const sent = isRpc ? { jsonrpc: '2.0', id: 1, method, params } : rest;
    const body = verb === 'GET' ? undefined : JSON.stringify(sent);
    for await (const value of this.#request(`${agent.url}${path}`, verb, body, signal))
      yield isRpc ? rpcResult(value) : httpResult(value);
  }

  #interface(signal: AbortSignal): Promise<AgentInterface> {
    this.#agent ??= this.#readCard(signal).catch((error: unknown) => {
      // The next request reads the card again.
      this.#agent = undefined;
      throw error;
    });
    return this.#agent;
  }

  async #readCard(signal: AbortSignal): Promise<AgentInterface> {
    const { url } = this.#options;
    const address = url.endsWith('.json')
      ? url
      : new URL('.well-known/agent-card.json', url.endsWith('/') ? url : `${url}/`).href;
    for await (const card of this.#request(address, 'GET', undefined, signal))
      return interfaceOf(card, new URL(url).origin);
    throw a2aFault('protocol_error', 'The card of the agent is empty');
  }

  /** Yields the JSON values of a reply: one value, or one for each server-sent event. */
  async *#request(
    url: string,
    method: string,
    body: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<JsonValue> {
    const { fetch: send, headers, idleTimeoutMs } = this.#options;
    const idle = new IdleLimit(idleTimeoutMs);
    const either = AbortSignal.any([signal, idle.signal]);
    const wait = () => idle.restart();
    try {
      const response = await send(url, {
        ...{ method, body: body ?? null, signal: either, redirect: 'error' },
        headers: {
          accept: 'text/event-stream, application/json, application/a2a+json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          'a2a-version': version,
          ...headers,
        },
      });
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      if (isStream === true && response.ok) yield* eventsIn(response, wait);
      else yield* bodyOf(response, wait);
    } catch (error) {
      if (error instanceof ProviderError || signal.aborted) throw error;
      if (idle.signal.aborted)
        throw a2aFault('timeout', `The agent sent nothing for ${idleTimeoutMs} ms`);
      throw a2aFault('network', 'The connection to the agent broke', { cause: error });
    } finally {
      idle.stop();
    }
  }
}

async function* eventsIn(response: Response, onBytes: () => void): AsyncGenerator<JsonValue> {
  for await (const text of readSseData(response, { maxEventLength: maxBytes, onBytes }))
    yield parsed(text);
}

async function* bodyOf(response: Response, onBytes: () => void): AsyncGenerator<JsonValue> {
  const collected = new ByteCollector();
  for await (const piece of response.body ?? []) {
    onBytes();
    collected.add(piece);
    if (collected.length > maxBytes)
      throw a2aFault('protocol_error', 'The reply of the agent is too large');
  }
  const read = parseJson(new TextDecoder().decode(collected.toBytes()));
  const value = read.ok ? read.value : undefined;
  const isAnswered = field(value, 'error') !== undefined;
  if (!response.ok && !isAnswered) throw statusFault(response.status);
  if (value === undefined) throw a2aFault('protocol_error', 'The reply of the agent is not JSON');
  yield value;
}

function parsed(text: string): JsonValue {
  const read = parseJson(text);
  if (read.ok) return read.value;
  throw a2aFault('protocol_error', 'An event of the agent is not JSON');
}

const statusKinds: Readonly<Record<number, ProviderErrorKind>> = {
  401: 'auth',
  403: 'permission',
  429: 'rate_limit',
};

function kindOf(status: number): ProviderErrorKind {
  return statusKinds[status] ?? (status >= 500 ? 'server' : 'invalid_request');
}

function statusFault(status: number): ProviderError {
  return a2aFault(kindOf(status), `The agent responded with HTTP status ${status}`, { status });
}

function rpcResult(value: JsonValue): JsonObject {
  const error = field(value, 'error');
  if (error === undefined || error === null) return objectOf(field(value, 'result') ?? {});
  const code = Number(field(error, 'code'));
  const kind = code === -32_603 ? 'server' : 'invalid_request';
  throw a2aFault(kind, messageOf(error), { code: reasonOf(error) ?? String(code) });
}

function httpResult(value: JsonValue): JsonObject {
  const error = field(value, 'error');
  if (error === undefined) return objectOf(value);
  const status = Number(field(error, 'code')) || 500;
  throw a2aFault(kindOf(status), messageOf(error), {
    ...{ status, code: reasonOf(error) ?? String(status) },
  });
}

/** Returns the name of an error of A2A, for example `TASK_NOT_FOUND`. */
function reasonOf(error: JsonValue): string | undefined {
  const details = field(error, 'data') ?? field(error, 'details');
  const reason = Array.isArray(details) ? field(details[0], 'reason') : undefined;
  return typeof reason === 'string' ? reason.slice(0, maxErrorLength) : undefined;
}

/** Maximum length of an error text that is read. Keys are removed from it before it is cut to its final length. */
export const maxErrorLength = 20_000;

function messageOf(error: JsonValue): string {
  const message = field(error, 'message');
  const text = typeof message === 'string' ? message.slice(0, maxErrorLength) : 'unknown error';
  return `The agent refused the request: ${text}`;
}

function objectOf(value: JsonValue): JsonObject {
  if (isJsonObject(value)) return value;
  throw a2aFault('protocol_error', 'The reply of the agent is not an object');
}

export function field(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/**
 * Chooses an interface of the card. It must have the origin of the configured URL, because requests contain the
 * token of the caller.
 */
function interfaceOf(card: JsonValue, origin: string): AgentInterface {
  const listed = field(card, 'supportedInterfaces');
  const interfaces = Array.isArray(listed) ? listed.slice(0, 100) : [];
  const isStreaming = field(field(card, 'capabilities'), 'streaming') === true;
  const spoken = interfaces.filter(
    (one) =>
      /^1\./.test(String(field(one, 'protocolVersion'))) &&
      ['JSONRPC', 'HTTP+JSON'].includes(String(field(one, 'protocolBinding'))),
  );
  if (spoken.length === 0)
    throw a2aFault(
      'invalid_request',
      'The card of the agent has no interface of A2A 1 with JSONRPC or HTTP+JSON',
    );
  const found = spoken.find((one) => {
    const url = String(field(one, 'url'));
    return URL.canParse(url) && new URL(url).origin === origin;
  });
  if (found === undefined)
    throw a2aFault(
      'permission',
      `The card of the agent names another origin than ${origin}. Use the URL of that origin, because requests contain your token`,
    );
  const url = String(field(found, 'url'));
  const binding = field(found, 'protocolBinding') === 'JSONRPC' ? 'JSONRPC' : 'HTTP+JSON';
  return {
    url: url.endsWith('/') && binding !== 'JSONRPC' ? url.slice(0, -1) : url,
    binding,
    isStreaming,
  };
}
