import { connect, createServer, type Server, type Socket } from 'node:net';
import { type SseMessage, SseReader } from './sse-reader.ts';

/** Between a client and a server, and breaks the connection after so many bytes of the answer. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #cuts: number[] = [];
  /** How many bytes each connection let through, in the order in which they came. */
  readonly passed: number[] = [];

  private constructor(targetPort: number) {
    this.#server = createServer((client) => this.#join(client, targetPort));
  }

  static async before(targetPort: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return portOf(this.#server);
  }

  /** The next connections are cut after so many bytes, one each; those after them are left whole. */
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
      // What was let through arrives; then nothing more does.
      target.destroy();
      client.end(part);
    });
  }
}

interface ReadThroughCutsOptions {
  readonly proxy: CuttingProxy;
  /** With the view, and where it begins. */
  readonly path: string;
  /** After how many bytes of each connection; the one after them is left whole. */
  readonly cuts: readonly number[];
  readonly isEnd?: ((message: SseMessage) => boolean) | undefined;
  /** A reader that begins anew has nothing of what came before. */
  readonly onRestart?: (() => void) | undefined;
  readonly onMessage: (message: SseMessage) => void;
}

/** More than any test needs: a reader that never gets to the end is a defect. */
const maxConnections = 1_000;

/** Reads a stream to its end as a browser does: cut off, it comes back with the last id that it has. */
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
