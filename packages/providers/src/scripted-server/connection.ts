import type { Socket } from 'node:net';

/** Who began to close a connection. */
export type Closer = 'client' | 'server';

/** One socket of the server, and how it ends. */
export class Connection {
  readonly socket: Socket;
  readonly closed: Promise<Closer>;
  #closer: Closer | undefined;
  #isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    // A small write must not wait for the acknowledgement of the one before.
    socket.setNoDelay(true);
    // Its FIN came, or ours went: the first of the two. A client's reset is neither.
    socket.once('end', () => this.#closing('client'));
    socket.once('finish', () => this.#closing('server'));
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isClosed = true;
        resolve(this.#closing('client'));
      });
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Notes who closes it, if nobody did before, and says who that was. */
  #closing(closer: Closer): Closer {
    this.#closer ??= closer;
    return this.#closer;
  }

  cut(how: 'close' | 'reset'): void {
    this.#closing('server');
    if (how === 'reset') this.socket.resetAndDestroy();
    else this.socket.destroy();
  }

  /** Resolves when `start` calls back, and in any case when the connection closes. */
  orClosed(start: (done: () => void) => void): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.socket.off('close', done);
        resolve();
      };
      this.socket.once('close', done);
      start(done);
    });
  }
}
