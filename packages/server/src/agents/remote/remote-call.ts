import type { IncomingMessage } from 'node:http';
import {
  ByteCollector,
  isMillraceError,
  type JsonObject,
  type JsonValue,
  parseJson,
  type TraceContext,
} from '@millrace/core';
import type { Clock } from '@millrace/log';
import { ReaderTurns, Redactor } from '@millrace/providers';
import { ServerError } from '../../contract/server-error.ts';
import type { ConnectionPolicy } from '../../network/agent-network.ts';
import { agentAddress, requestAgent } from '../../network/agent-request.ts';
import { takeSmallChunks } from '../../network/join-chunks.ts';

export interface RemoteEndpoint {
  /** The base URL of the agent. Calls go to `/api` below it. */
  readonly url: string;
  readonly key: string;
  /** Decides to which network addresses the server may connect. */
  readonly network: ConnectionPolicy;
}

export interface RemoteLimits {
  /** Maximum time until the response starts, in milliseconds. Default: 60,000. */
  readonly answerTimeoutMs: number;
  /** Maximum time between two chunks of a stream, in milliseconds. Default: 300,000. */
  readonly idleTimeoutMs: number;
  /** Maximum size of a response that does not stream, in bytes. Default: 1 MiB. */
  readonly maxBytes: number;
}

export const remoteLimits: RemoteLimits = {
  answerTimeoutMs: 60_000,
  idleTimeoutMs: 300_000,
  maxBytes: 2 ** 20,
};

interface RemoteRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly id: string;
  readonly signal?: AbortSignal | undefined;
  /** The trace to which the call belongs. */
  readonly trace?: TraceContext | undefined;
}

/** A response whose headers have arrived. */
interface RemoteAnswer {
  readonly isStream: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  /** Removes the key of the agent from everything that the agent sends. */
  readonly redactor: Redactor;
}

/** Calls a remote agent. It refuses redirects, because only the registered agent may receive the key. */
export async function callRemote(
  endpoint: RemoteEndpoint,
  request: RemoteRequest,
  clock: Clock,
  limits: RemoteLimits = remoteLimits,
): Promise<RemoteAnswer> {
  const { method, params, id } = request;
  const guard = new CallGuard(request.signal, clock);
  guard.startTimeout(limits.answerTimeoutMs);
  try {
    const response = await requestAgent(
      agentAddress(endpoint.url, '/api'),
      {
        method: 'POST',
        signal: guard.signal,
        headers: {
          'content-type': 'application/json',
          accept: 'application/x-ndjson, application/json',
          'x-agent-api-key': endpoint.key,
          'x-request-id': id,
          ...request.trace,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      },
      endpoint.network,
    );
    if (response.statusCode !== 200) {
      response.destroy();
      throw agentFailed(`it responded with HTTP status ${response.statusCode}`);
    }
    const type = response.headers['content-type'] ?? '';
    const isStream = !type.startsWith('application/json');
    const body = guardedBody(response, guard, limits.idleTimeoutMs);
    return { isStream, body, redactor: new Redactor([endpoint.key]) };
  } catch (error) {
    guard.stopTimeout();
    throw guard.translateError(error);
  }
}

/** Returns the result of a call that does not stream. */
export async function resultOf(
  { body, redactor }: RemoteAnswer,
  limits: RemoteLimits = remoteLimits,
): Promise<JsonValue> {
  const collected = new ByteCollector();
  for await (const piece of body) {
    if (collected.length + piece.length > limits.maxBytes)
      throw agentFailed(`its response has more than ${limits.maxBytes} bytes`);
    collected.add(piece);
  }
  const parsed = parseJson(new TextDecoder().decode(collected.toBytes()));
  if (!parsed.ok) throw agentFailed('its response is not JSON');
  return resultIn(parsed.value, redactor);
}

/**
 * Returns the result in a JSON-RPC envelope, without the key of the agent. If the envelope contains an error, it
 * throws that error.
 */
export function resultIn(envelope: JsonValue, redactor: Redactor): JsonValue {
  const { result = null, error = null } = redactor.ids((envelope ?? {}) as JsonObject);
  if (error === null || typeof error !== 'object') return result;
  const { message } = error as JsonObject;
  throw agentFailed(typeof message === 'string' ? message.slice(0, 2000) : 'it returned an error');
}

function agentFailed(what: string): ServerError {
  return new ServerError('agent_failed', `The agent failed: ${what}`);
}

async function* guardedBody(
  body: IncomingMessage,
  guard: CallGuard,
  idleTimeoutMs: number,
): AsyncGenerator<Uint8Array> {
  const turns = new ReaderTurns();
  try {
    guard.startTimeout(idleTimeoutMs);
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      guard.stopTimeout();
      // Node needs much work for each chunk of the protocol.
      const turn = turns.count(takeSmallChunks(body));
      if (turn !== undefined) await turn;
      yield piece;
      guard.startTimeout(idleTimeoutMs);
    }
  } catch (error) {
    throw guard.translateError(error);
  } finally {
    guard.stopTimeout();
  }
}

/** Aborts a call that takes too long, or when the caller's signal is aborted. */
class CallGuard {
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #clock: Clock;
  #cancel: () => void = () => {};
  #timeoutError: ServerError | undefined;

  constructor(callerSignal: AbortSignal | undefined, clock: Clock) {
    this.#callerSignal = callerSignal;
    this.#clock = clock;
  }

  get signal(): AbortSignal {
    const own = this.#controller.signal;
    return this.#callerSignal === undefined ? own : AbortSignal.any([own, this.#callerSignal]);
  }

  startTimeout(ms: number): void {
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => {
      this.#timeoutError = new ServerError('agent_timeout', `The agent sent nothing for ${ms} ms`);
      this.#controller.abort(this.#timeoutError);
    });
  }

  stopTimeout(): void {
    this.#cancel();
  }

  /**
   * Returns the error for the caller. Errors of the connection are replaced, because their messages do not
   * help a user.
   */
  translateError(error: unknown): unknown {
    if (this.#timeoutError !== undefined) return this.#timeoutError;
    if (this.#callerSignal?.aborted) return this.#callerSignal.reason;
    if (isMillraceError(error)) return error;
    return new ConnectionLostError(error);
  }
}

/** Thrown if the connection broke. It is unknown whether the agent has handled the call. */
export class ConnectionLostError extends ServerError {
  constructor(cause: unknown) {
    const details = { reason: 'interrupted' };
    super('unavailable', 'interrupted: the connection to the agent broke', {}, { cause, details });
  }
}
