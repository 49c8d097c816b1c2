import {
  InsufficientScopeError,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import type { McpSettings } from '../../contract/mcp-options.ts';
import type { McpHttpServer } from '../../contract/mcp-server.ts';
import type { ServerAuthorization } from '../oauth/server-authorization.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { idOf, MessageGate, RateLimit } from './message-gate.ts';

/** Marks an error response that this client creates itself. The code compares the object by identity. */
export const lostStream: object = Object.freeze({});

type Settings = Pick<McpSettings, 'maxMessageBytes' | 'connectTimeoutMs'>;

// How long a server can keep the stream of a request open after its response, in milliseconds.
const streamEndMs = 1_000;

/**
 * A Streamable HTTP transport that rejects a request as soon as its response can no longer arrive. The
 * request does not have to wait for the timeout. All messages of the server pass through a gate.
 *
 * Each message needs an HTTP request, and thus a connection of this process. No server can keep it open: a request
 * ends soon after its response or its cancellation, and other messages have a timeout.
 */
export class HttpTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  /** The SDK cancels a request of the revision of 2026 by its `requestSignal`. */
  readonly hasPerRequestStream = true;
  readonly #wire: StreamableHTTPClientTransport;
  readonly #gate: MessageGate;
  readonly #authorization: ServerAuthorization | undefined;
  readonly #timeoutMs: number;
  // Ends the HTTP requests of the open requests, by their ids.
  readonly #posts = new Map<string | number, AbortController>();

  constructor(
    { url, headers, fetch }: McpHttpServer['http'],
    { maxMessageBytes, connectTimeoutMs }: Settings,
    authorization?: ServerAuthorization,
  ) {
    this.#wire = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { ...headers } },
      ...(authorization && { authProvider: authorization }),
      fetch: boundedFetch(fetch ?? globalThis.fetch, maxMessageBytes, isReadByEvent),
      reconnectionScheduler: pacedReconnects(),
    });
    this.#timeoutMs = connectTimeoutMs;
    this.#gate = new MessageGate(maxMessageBytes, (error) => this.#closeFor(error));
    this.#authorization = authorization;
    this.#wire.onclose = () => this.onclose?.();
    this.#wire.onerror = (error) => this.onerror?.(error);
    this.#wire.onmessage = (message) => this.#receive(message);
  }

  get sessionId(): string | undefined {
    return this.#wire.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#wire.setProtocolVersion(version);
  }

  start(): Promise<void> {
    return this.#wire.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    await this.#gate.send(message, () => this.#post(message, options));
  }

  async #post(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    const isRequest = 'method' in message && 'id' in message;
    const forget = () => isRequest && this.#posts.delete(idOf(message.id));
    const onRequestStreamEnd = () => {
      forget();
      options.onRequestStreamEnd?.();
      this.#failRequest(message);
    };
    options.requestSignal?.addEventListener('abort', forget, { once: true });
    const given = options.requestSignal === undefined ? [] : [options.requestSignal];
    const requestSignal = AbortSignal.any([...given, this.#limit(message)]);
    try {
      await this.#wire.send(message, { ...options, requestSignal, onRequestStreamEnd } as object);
    } catch (error) {
      if (this.#authorization === undefined || !InsufficientScopeError.isInstance(error))
        throw error;
      const { requiredScope: scope, resourceMetadataUrl: metadataUrl } = error;
      throw await this.#authorization.needMore({ scope, metadataUrl });
    }
  }

  /** Returns the signal that ends the HTTP request of a message. */
  #limit(message: JSONRPCMessage): AbortSignal {
    if (!('method' in message && 'id' in message)) {
      if ('method' in message && message.method === 'notifications/cancelled')
        this.#endPost(message.params?.['requestId']);
      return AbortSignal.timeout(this.#timeoutMs);
    }
    const post = new AbortController();
    this.#posts.set(idOf(message.id), post);
    return post.signal;
  }

  #endPost(id: unknown): void {
    const post = this.#posts.get(idOf(id));
    this.#posts.delete(idOf(id));
    if (post !== undefined) setTimeout(() => post.abort(), streamEndMs).unref();
  }

  #receive(given: JSONRPCMessage): void {
    const message = this.#gate.received(given);
    if (message === undefined) return;
    this.onmessage?.(message);
    if (!('method' in message)) this.#endPost(message.id);
  }

  #closeFor(error: Error): void {
    this.onerror?.(error);
    // The error explains the end of the connection. The errors of all open requests are its effect.
    this.onerror = undefined;
    void this.close();
  }

  terminateSession(): Promise<void> {
    return this.#wire.terminateSession();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  /** Creates an error response for a request. A second response to the same request has no effect. */
  #failRequest(message: JSONRPCMessage): void {
    // The negotiation of the protocol revision handles its own errors.
    if (!('method' in message) || message.method === 'server/discover') return;
    if (!('id' in message) || typeof message.id !== 'number') return;
    const error = { code: -32_000, message: 'The response ended early', data: lostStream };
    this.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
  }
}

/** Returns whether the SDK reads a response event by event. It reads all other responses at once. */
function isReadByEvent({ ok, status }: Response, { method, body }: RequestInit = {}): boolean {
  if (!ok || status === 202) return false;
  if (method === 'GET') return true;
  if (typeof body !== 'string') return false;
  const sent = JSON.parse(body) as object;
  return 'method' in sent && 'id' in sent;
}

/** Number of reconnects in a row with the delay that the server wants (`retry`). */
const maxBurst = 10;
/** Further reconnects in a row wait at least this long. */
const minDelayMs = 1000;
const maxDelayMs = 600_000;

/**
 * Returns a function that reconnects after a delay. The server chooses the delay, so there are limits: about one
 * reconnect a second, and none later than after 10 minutes. The returned function of a reconnect cancels it. `unref`
 * lets the process exit while a reconnect is pending.
 */
export function pacedReconnects(): (reconnect: () => void, delayMs: number) => () => void {
  const limit = new RateLimit(maxBurst, 1000 / minDelayMs);
  return (reconnect, delayMs) => {
    const isEarly = !limit.take();
    const limitedMs = Math.min(Math.max(delayMs, isEarly ? minDelayMs : 0), maxDelayMs);
    const timer = setTimeout(reconnect, limitedMs).unref();
    return () => clearTimeout(timer);
  };
}

/** Returns a function that calls another one soon, but in the long run at most once a second. */
export function paced(run: () => void): () => void {
  const schedule = pacedReconnects();
  let isPending = false;
  return () => {
    if (isPending) return;
    isPending = true;
    schedule(() => {
      isPending = false;
      run();
    }, 0);
  };
}
