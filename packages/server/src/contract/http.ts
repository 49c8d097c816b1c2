import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Scope } from './service.ts';

/** A request, from any of the server's entrances. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query as they were sent, with the base path. */
  readonly url: string;
  /** The path that the server is mounted at, without a slash at its end. Empty for the root. */
  readonly basePath: string;
  readonly headers: IncomingHttpHeaders;
  /** Size of the path and all headers. */
  readonly headBytes: number;
  /** True if the request has more than one host header. */
  readonly hasSeveralHosts: boolean;
  readonly hasBody: boolean;
  /** The address of the client. `unknown` if the entrance does not provide it. */
  readonly address: string;
  /** The request of Node or of the Fetch API. */
  readonly source: IncomingMessage | Request;
  /**
   * Reads the whole body. Rejects with `too_large` as soon as it has more bytes than allowed, and with
   * the reason of `signal` when that aborts.
   */
  readBody(maxBytes: number, signal: AbortSignal): Promise<Buffer>;
}

/** What the server needs of a response. Node's `ServerResponse` has it. */
export interface HttpResponse {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  /** Bytes that wait to be read by the client. */
  readonly writableLength: number;
  /** True after `write` returned false, until `drain`. */
  readonly writableNeedDrain: boolean;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: Readonly<Record<string, string | number>>): HttpResponse;
  flushHeaders(): void;
  /**
   * Returns false if the caller should wait before it writes more. The event `drain` comes when the
   * client has read enough.
   */
  write(chunk: string | Uint8Array): boolean;
  end(chunk?: string | Uint8Array): unknown;
  /** Disconnects the client. */
  destroy(): unknown;
  on(event: 'drain' | 'close' | 'error', listener: () => void): unknown;
  once(event: 'drain' | 'close' | 'error', listener: () => void): unknown;
  off(event: 'drain' | 'close' | 'error', listener: () => void): unknown;
}

/** A request as the options `authorize` and `clientAddress` of `createServer` get it. */
export interface IncomingRequest {
  readonly method: string;
  /**
   * The path below the base path, without the query. Each segment is percent-encoded as
   * `encodeURIComponent` does, however the client wrote it.
   */
  readonly path: string;
  readonly headers: Headers;
  /** The address of the connection's other end. Undefined for `fetch`. */
  readonly peerAddress: string | undefined;
  /** The request of Node, or the one that was passed to `fetch`. Its body must not be read. */
  readonly source: IncomingMessage | Request;
}

/** What a request without a token may do. */
export interface RequestAccess {
  /** Identifies the user of your application. Limits apply per user. */
  readonly user: string;
  /**
   * Default: all agents, and the tasks that this user created. `{ kind: 'all' }` gives the rights of an
   * operator, who can read all tasks, register agents and create tokens.
   */
  readonly scope?: Scope | undefined;
  /** True to allow only reading. Default: false. */
  readonly isReadOnly?: boolean | undefined;
}
