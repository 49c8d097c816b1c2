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
      reconnectionScheduler: reconnectLater,
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

/**
 * Reconnects after a delay. The returned function cancels the reconnect. `unref` lets the process exit while
 * a reconnect is pending.
 */
function reconnectLater(reconnect: () => void, delayMs: number): () => void {
  const timer = setTimeout(reconnect, delayMs).unref();
  return () => clearTimeout(timer);
}
