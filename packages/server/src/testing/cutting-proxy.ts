import { connect, createServer, type Server, type Socket } from 'node:net';
import { portOf } from './port-of.ts';

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
