import {
  InsufficientScopeError,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import type { McpHttpServer } from '../../contract/mcp-server.ts';
import type { ServerAuthorization } from '../oauth/server-authorization.ts';
import { boundedFetch } from './bounded-fetch.ts';

/** Marks an error response that this client creates itself. The code compares the object by identity. */
export const lostStream: object = Object.freeze({});

/**
 * A Streamable HTTP transport that rejects a request as soon as its response can no longer arrive. The
 * request does not have to wait for the timeout.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  readonly #authorization: ServerAuthorization | undefined;

  constructor(
    { url, headers, fetch }: McpHttpServer['http'],
    maxMessageBytes: number,
    authorization?: ServerAuthorization,
  ) {
    super(new URL(url), {
      requestInit: { headers: { ...headers } },
      ...(authorization && { authProvider: authorization }),
      fetch: boundedFetch(fetch ?? globalThis.fetch, maxMessageBytes),
      reconnectionScheduler: pacedReconnects(),
    });
    this.#authorization = authorization;
  }

  override async send(
    message: JSONRPCMessage | JSONRPCMessage[],
    options?: TransportSendOptions,
  ): Promise<void> {
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      if (!Array.isArray(message)) this.#failRequest(message);
    };
    try {
      await super.send(message, { ...options, onRequestStreamEnd } as object);
    } catch (error) {
      if (this.#authorization === undefined || !InsufficientScopeError.isInstance(error))
        throw error;
      const { requiredScope: scope, resourceMetadataUrl: metadataUrl } = error;
      throw await this.#authorization.needMore({ scope, metadataUrl });
    }
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
  let left = maxBurst;
  let countedAt = performance.now();
  return (reconnect, delayMs) => {
    const now = performance.now();
    left = Math.max(Math.min(maxBurst, left + (now - countedAt) / minDelayMs) - 1, -1);
    countedAt = now;
    const limitedMs = Math.min(Math.max(delayMs, left < 0 ? minDelayMs : 0), maxDelayMs);
    const timer = setTimeout(reconnect, limitedMs).unref();
    return () => clearTimeout(timer);
  };
}
