import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Scope } from './service.ts';

/** Called with the number of bytes of each received chunk. If it throws, the rest of the body is not read. */
export type OnBytes = (bytes: number) => void;

/** A request in the common form for all adapters, such as Node and `fetch`. */
export interface HttpRequest {
  readonly method: string;
  /** The path and the query as the client sent them, including the base path. */
  readonly url: string;
  /**
   * The path at which the server is mounted, without a slash at its end. Empty if the server is mounted at
   * the root.
   */
  readonly basePath: string;
  readonly headers: IncomingHttpHeaders;
  /** The size of the path and all headers in bytes. */
  readonly headBytes: number;
  /** The number of header fields. */
  readonly headFields: number;
  /** True if the request has more than one host header. */
  readonly hasSeveralHosts: boolean;
  readonly hasBody: boolean;
  /** The address of the client. `unknown` if the adapter does not provide it. */
  readonly address: string;
  /** The original request object of Node or of the Fetch API. */
  readonly source: IncomingMessage | Request;
  /**
   * Reads the whole body. Rejects with `too_large` when it has received more than `maxBytes` bytes. Rejects
   * with the reason of `signal` when the signal is aborted, and with the error of `onBytes`.
   */
  readBody(maxBytes: number, signal: AbortSignal, onBytes?: OnBytes): Promise<Buffer>;
}

/** The part of Node's `ServerResponse` that the server uses. */
export interface HttpResponse {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  /** The number of written bytes that the client has not received yet. */
  readonly writableLength: number;
  /** True from the time when `write` returns false until the event `drain`. */
  readonly writableNeedDrain: boolean;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: Readonly<Record<string, string | number>>): HttpResponse;
  flushHeaders(): void;
  /**
   * Writes a chunk. Returns false if the caller should wait before it writes more. The event `drain` is
   * emitted when the client has read enough.
   */
  write(chunk: string | Uint8Array): boolean;
  end(chunk?: string | Uint8Array): unknown;
  /** Disconnects the client. */
  destroy(): unknown;
  on(event: 'drain' | 'close' | 'error', listener: () => void): unknown;
  once(event: 'drain' | 'close' | 'error', listener: () => void): unknown;
  off(event: 'drain' | 'close' | 'error', listener: () => void): unknown;
}

/** The request that the options `authorize` and `clientAddress` of `createServer` receive. */
export interface IncomingRequest {
  readonly method: string;
  /**
   * The path below the base path, without the query. Each segment is encoded in the same way as by
   * `encodeURIComponent`, even if the client used a different encoding.
   */
  readonly path: string;
  readonly headers: Headers;
  /** The address of the client or proxy that opened the connection. Undefined for `fetch`. */
  readonly peerAddress: string | undefined;
  /** The request object of Node, or the `Request` that was passed to `fetch`. Do not read its body. */
  readonly source: IncomingMessage | Request;
}

/** The access rights of a request without a token. */
export interface RequestAccess {
  /** The id of the user in your application. Rate limits apply per user. */
  readonly user: string;
  /**
   * The resources that the user may access. Default: all agents, and the tasks that this user created. `{
   * kind: 'all' }` gives the rights of an operator, who can read all tasks, register agents and create
   * tokens.
   */
  readonly scope?: Scope | undefined;
  /** True if the user may only read. Default: false. */
  readonly isReadOnly?: boolean | undefined;
}
