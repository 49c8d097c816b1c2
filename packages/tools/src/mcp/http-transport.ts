import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { boundedFetch } from './bounded-fetch.ts';
import type { McpHttpServer } from './mcp-server.ts';

/** Marks an answer that we give in the server's place; nobody else can have the same object. */
export const lostStream: object = Object.freeze({});

/** Streamable HTTP that says when an answer cannot come any more, instead of waiting for the time-out. */
export class HttpTransport extends StreamableHTTPClientTransport {
  constructor({ url, headers, fetch }: McpHttpServer['http'], maxMessageBytes: number) {
    super(new URL(url), {
      requestInit: { headers: { ...headers } },
      fetch: boundedFetch(fetch ?? globalThis.fetch, maxMessageBytes),
      reconnectionScheduler: reconnectLater,
    });
  }

  override send(
    message: JSONRPCMessage | JSONRPCMessage[],
    options?: TransportSendOptions,
  ): Promise<void> {
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      if (!Array.isArray(message)) this.#giveUp(message);
    };
    return super.send(message, { ...options, onRequestStreamEnd } as object);
  }

  /** To a request that was answered before, one more answer is nothing. */
  #giveUp(message: JSONRPCMessage): void {
    // The question for the revision has ids of its own.
    if (!('method' in message) || message.method === 'server/discover') return;
    if (!('id' in message) || typeof message.id !== 'number') return;
    const error = { code: -32_000, message: 'The answer was cut off', data: lostStream };
    this.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
  }
}

/** A stream that is to come back is no reason for a process to stay. */
function reconnectLater(reconnect: () => void, delayMs: number): () => void {
  const timer = setTimeout(reconnect, delayMs).unref();
  return () => clearTimeout(timer);
}
