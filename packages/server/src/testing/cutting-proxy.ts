import { connect, createServer, type Server, type Socket } from 'node:net';
import { type SseMessage, SseReader } from './sse-reader.ts';

/** A proxy that cuts a connection after a given number of response bytes. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #cuts: number[] = [];
  /** The number of bytes that each connection has passed, in the order of the connections. */
  readonly passed: number[] = [];

  readonly #onCut: () => void;

  private constructor(target: () => Promise<number>, onCut: () => void) {
    this.#onCut = onCut;
    this.#server = createServer((client) => {
      // A client that leaves while the target starts needs no connection to the target.
      client.on('error', () => {});
      void target().then((port) => !client.destroyed && this.#join(client, port));
    });
  }

  /**
   * Starts a proxy before the port of a server. The port can be a function, because a server that is started
   * again has another port. `onCut` is called at each cut, before the client notices the cut.
   */
  static async before(
    target: number | (() => Promise<number>),
    onCut: () => void = () => {},
  ): Promise<CuttingProxy> {
    const port = typeof target === 'number' ? async () => target : target;
    const proxy = new CuttingProxy(port, onCut);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return portOf(this.#server);
  }

  /**
   * Cuts each of the next connections after the given number of bytes. Later connections are not
   * cut.
   */
  cutNext(...afterBytes: readonly number[]): void {
    this.#cuts.push(...afterBytes);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket, targetPort: number): void {
    const limit = this.#cuts.shift() ?? Number.POSITIVE_INFINITY;
    const index = this.passed.push(0) - 1;
    const target = connect(targetPort, '127.0.0.1');
    for (const socket of [client, target]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
    }
    client.on('close', () => target.destroy());
    client.pipe(target);
    target.on('end', () => client.end());
    target.on('close', () => client.end());
    target.on('data', (data) => {
      const left = limit - (this.passed[index] ?? 0);
      const part = data.subarray(0, left);
      this.passed[index] = (this.passed[index] ?? 0) + part.length;
      if (data.length < left) return void client.write(part);
      // The client still receives the bytes before the cut.
      target.destroy();
      this.#onCut();
      client.end(part);
    });
  }
}

interface ReadThroughCutsOptions {
  readonly proxy: CuttingProxy;
  /** The path of the request, with the view and the start position. */
  readonly path: string;
  /** The number of bytes after which each connection is cut. Later connections are not cut. */
  readonly cuts: readonly number[];
  readonly isEnd?: ((message: SseMessage) => boolean) | undefined;
  /** Called when the reader starts again from the beginning, without a cursor. */
  readonly onRestart?: (() => void) | undefined;
  readonly onMessage: (message: SseMessage) => void;
}

/** Maximum number of connections. No test needs this many, so a reader that reaches the limit has a bug. */
const maxConnections = 1_000;

/** Reads a stream to its end as a browser does. After a cut, it reconnects with its last event id. */
export async function readThroughCuts(
  options: ReadThroughCutsOptions,
): Promise<{ readonly connections: number }> {
  const {
    proxy,
    path,
    cuts,
    isEnd = ({ event }) => event === 'end',
    onRestart,
    onMessage,
  } = options;
  proxy.cutNext(...cuts);
  let lastEventId: string | undefined;
  for (let connections = 1; connections <= maxConnections; connections++) {
    const reader = new SseReader({ port: proxy.port, path, lastEventId, onMessage });
    await reader.waitForEnd();
    lastEventId = reader.parser.lastId ?? lastEventId;
    const last = reader.messages.at(-1);
    if (last !== undefined && isEnd(last)) return { connections };
    if (lastEventId === undefined) onRestart?.();
  }
  throw new Error(`The end of ${path} did not come in ${maxConnections} connections`);
}

export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server does not listen');
  return address.port;
}
