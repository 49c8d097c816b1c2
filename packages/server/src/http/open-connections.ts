import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ServerError } from '../contract/server-error.ts';

/**
 * The open streamed replies of each caller. Limits their number and closes them when a token is
 * revoked.
 */
export class OpenStreams {
  readonly #maxPerCaller: number;
  readonly #byCaller = new Map<string, Set<ServerResponse>>();

  constructor(maxPerCaller: number) {
    this.#maxPerCaller = maxPerCaller;
  }

  /** Throws `rate_limited` if the caller has the maximum number of open streams. */
  assertCapacity(caller: string): void {
    if ((this.#byCaller.get(caller)?.size ?? 0) < this.#maxPerCaller) return;
    const message = `Cannot open another stream: a caller can have ${this.#maxPerCaller} open streams. Close one first`;
    throw new ServerError('rate_limited', message, {}, { retryAfterMs: 1000 });
  }

  /** Counts a stream until its connection closes. */
  add(caller: string, response: ServerResponse): void {
    const open = this.#byCaller.get(caller) ?? new Set();
    this.#byCaller.set(caller, open.add(response));
    response.once('close', () => {
      open.delete(response);
      if (open.size === 0 && this.#byCaller.get(caller) === open) this.#byCaller.delete(caller);
    });
  }

  /** Closes all streams of a caller. */
  disconnect(caller: string): void {
    for (const response of this.#byCaller.get(caller) ?? []) response.destroy();
  }
}

/**
 * Connections that have not sent any bytes yet. Browsers and HTTP clients open such connections in
 * advance. Node does not count them as idle, so a closing server would wait for them.
 */
export class UnusedConnections {
  readonly #sockets = new Set<Socket>();
  #isClosing = false;

  constructor(server: Server) {
    server.on('connection', (socket) => {
      if (this.#isClosing) return void socket.destroy();
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('request', ({ socket }) => this.#sockets.delete(socket));
  }

  /** Closes these connections, and every connection that opens later. */
  close(): void {
    this.#isClosing = true;
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}
