import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Scope } from './service.ts';

/** A request in the form that all entrances of the server use. */
export interface HttpRequest {
  readonly method: string;
  /** The path and the query in the form in which the client sent them, including the base path. */
  readonly url: string;
  /** The path at which the server is mounted, without a slash at its end. Empty for the root. */
  readonly basePath: string;
  readonly headers: IncomingHttpHeaders;
  /** The size of the path and all headers in bytes. */
  readonly headBytes: number;
  /** True if the request has more than one host header. */
  readonly hasSeveralHosts: boolean;
  readonly hasBody: boolean;
  /** The address of the client. `unknown` if the entrance does not provide it. */
  readonly address: string;
  /** The original request object of Node or of the Fetch API. */
  readonly source: IncomingMessage | Request;
  /**
   * Reads the whole body. Rejects with `too_large` as soon as the body has more than `maxBytes` bytes.
   * Rejects with the reason of `signal` when the signal is aborted.
   */
  readBody(maxBytes: number, signal: AbortSignal): Promise<Buffer>;
}

/** The part of a response that the server uses. Node's `ServerResponse` fits this type. */
export interface HttpResponse {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  /** The number of bytes that the client has not read yet. */
  readonly writableLength: number;
  /** True after `write` returned false, until the event `drain`. */
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
   * The path below the base path, without the query. Each segment is encoded as `encodeURIComponent` would
   * do it, even if the client encoded it in another way.
   */
  readonly path: string;
  readonly headers: Headers;
  /** The address of the other end of the connection. Undefined for `fetch`. */
  readonly peerAddress: string | undefined;
  /** The request object of Node, or the one that was passed to `fetch`. Do not read its body. */
  readonly source: IncomingMessage | Request;
}

/** Says what a request without a token may do. */
export interface RequestAccess {
  /** Identifies the user of your application. Rate limits apply per user. */
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
