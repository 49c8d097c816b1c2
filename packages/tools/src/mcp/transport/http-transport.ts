import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import type { McpHttpServer } from '../../contract/mcp-server.ts';

/** Marks an error response that this client creates itself. The code compares the object by identity. */
export const lostStream: object = Object.freeze({});

/**
 * A Streamable HTTP transport that rejects a request as soon as its response can no longer arrive. The
 * request does not have to wait for the timeout.
 */
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
      if (!Array.isArray(message)) this.#failRequest(message);
    };
    return super.send(message, { ...options, onRequestStreamEnd } as object);
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

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Returns a `fetch` that limits the size of responses. In an event stream, the limit applies to each event. A
 * larger response ends with an error.
 */
export function boundedFetch(fetch: Fetch, maxBytes: number): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { body, headers, status, statusText } = response;
    // The body of a redirect is not read.
    if (body === null || (status >= 300 && status < 400)) return response;
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
    const bounded = body.pipeThrough(boundedBytes(maxBytes, isStream));
    return new Response(bounded, { status, statusText, headers });
  };
}

function boundedBytes(
  maxBytes: number,
  isStream: boolean,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const count = isStream ? longestEvent() : total();
  return new TransformStream({
    transform(chunk, controller) {
      if (count(chunk) > maxBytes) controller.error(tooLongError(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

type Count = (chunk: Uint8Array) => number;

function total(): Count {
  let length = 0;
  return (chunk) => {
    length += chunk.length;
    return length;
  };
}

const lineFeed = 10;
const carriageReturn = 13;

/**
 * Returns a function that measures events. For each chunk, it returns the size of the longest event that
 * overlaps the chunk. An empty line ends an event.
 */
function longestEvent(): Count {
  let length = 0;
  let isLineEmpty = true;
  let previous = 0;
  return (chunk) => {
    let longest = length;
    for (const byte of chunk) {
      longest = Math.max(longest, ++length);
      const isSecondHalf = byte === lineFeed && previous === carriageReturn;
      previous = byte;
      if (isSecondHalf) continue;
      const isLineEnd = byte === lineFeed || byte === carriageReturn;
      if (isLineEnd && isLineEmpty) length = 0;
      isLineEmpty = isLineEnd;
    }
    return longest;
  };
}

function tooLongError(maxBytes: number): RangeError {
  return new RangeError(`It sent a message of more than ${maxBytes} bytes (maxMessageBytes)`);
}
