import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Connections on which nothing was said yet, as browsers and HTTP clients keep some ready. Node does not
 * count them among those that are idle, and a server that closes would wait for them.
 */
export class SilentConnections {
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
