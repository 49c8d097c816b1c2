import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type JsonValue, parseJson } from '@millrace/core';
import type { ClosedBy, Connection } from './connection.ts';
import { ScriptedServerError } from './script.ts';

/** A request that has arrived completely at the server. */
export interface ScriptedRequest {
  readonly method: string;
  /** The path, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The headers, with names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The body as text. */
  readonly text: string;
  /** The body parsed as JSON. Undefined if it is not JSON. */
  readonly body: JsonValue | undefined;
  /**
   * Resolves when the connection has closed. The value tells which side closed it first. `server.close()`
   * closes all connections.
   */
  readonly closed: Promise<ClosedBy>;
  readonly isClosed: boolean;
}

const maxBodyBytes = 64 * 2 ** 20;

/** Reads a complete request. Returns undefined if the client disconnects or the request is too large. */
export async function readRequest(
  incoming: IncomingMessage,
  connection: Connection,
): Promise<ScriptedRequest | undefined> {
  const text = await readText(incoming);
  if (text === undefined) return undefined;
  const url = new URL(incoming.url ?? '/', 'http://scripted');
  const parsed = parseJson(text);
  return {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers,
    text,
    body: parsed.ok ? parsed.value : undefined,
    closed: connection.closed,
    get isClosed() {
      return connection.isClosed;
    },
  };
}

async function readText(incoming: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of incoming) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBodyBytes) return undefined;
    }
  } catch {
    // The client disconnected before its request was complete.
    return undefined;
  }
  return Buffer.concat(chunks).toString('utf8');
}

type Waiter = PromiseWithResolvers<ScriptedRequest>;

/** All received requests, and the callers that wait for the next request. */
export class RequestLog {
  readonly requests: ScriptedRequest[] = [];
  readonly #waiting: Waiter[] = [];
  #delivered = 0;
  #isClosed = false;

  add(request: ScriptedRequest): void {
    this.requests.push(request);
    const waiter = this.#waiting.shift();
    if (waiter === undefined) return;
    this.#delivered += 1;
    waiter.resolve(request);
  }

  /** Returns the oldest request that was not returned by an earlier call. */
  next(): Promise<ScriptedRequest> {
    const request = this.requests[this.#delivered];
    if (request !== undefined) {
      this.#delivered += 1;
      return Promise.resolve(request);
    }
    if (this.#isClosed) return Promise.reject(closedError());
    const waiter = Promise.withResolvers<ScriptedRequest>();
    this.#waiting.push(waiter);
    return waiter.promise;
  }

  close(): void {
    this.#isClosed = true;
    for (const waiter of this.#waiting.splice(0)) waiter.reject(closedError());
  }
}

function closedError(): ScriptedServerError {
  return new ScriptedServerError(
    'server_closed',
    'No request will come: the scripted server is closed',
  );
}
