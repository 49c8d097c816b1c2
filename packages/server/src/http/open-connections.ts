import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ServerError } from '../contract/server-error.ts';

/**
 * Answers that write themselves for as long as it takes, by who asked: nobody has all connections for
 * himself, and whose token is revoked hears no more.
 */
export class OpenStreams {
  readonly #most: number;
  readonly #byCaller = new Map<string, Set<ServerResponse>>();

  constructor(mostOfOneCaller: number) {
    this.#most = mostOfOneCaller;
  }

  /** Throws where a caller has too many already. */
  assertCapacity(caller: string): void {
    if ((this.#byCaller.get(caller)?.size ?? 0) < this.#most) return;
    const message = `Cannot open more than ${this.#most} streams of one caller. Close some`;
    throw new ServerError('rate_limited', message, {}, { retryAfterMs: 1000 });
  }

  /** Until its connection is closed. */
  add(caller: string, response: ServerResponse): void {
    const open = this.#byCaller.get(caller) ?? new Set();
    this.#byCaller.set(caller, open.add(response));
    response.once('close', () => {
      open.delete(response);
      if (open.size === 0 && this.#byCaller.get(caller) === open) this.#byCaller.delete(caller);
    });
  }

  /** Hangs up on a caller. */
  disconnect(caller: string): void {
    for (const response of this.#byCaller.get(caller) ?? []) response.destroy();
  }
}

/**
 * Connections on which nothing was said yet, as browsers and HTTP clients keep some ready. Node does not
 * count them among those that are idle, and a server that closes would wait for them.
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

  /** Hangs up on them, and on whoever comes while the door closes. */
  close(): void {
    this.#isClosing = true;
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}
