import { lookup } from 'node:dns/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onClientError } from '../error-reply.ts';
import type { HttpLimits } from '../http-limits.ts';
import { UnusedConnections } from '../open-connections.ts';

interface NodeListenerOptions {
  readonly limits: HttpLimits;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
}

/** The sockets of a server that listens on a port of its own. */
export class NodeListener {
  readonly #options: NodeListenerOptions;
  readonly #servers: Server[] = [];
  readonly #unusedConnections: UnusedConnections[] = [];

  constructor(options: NodeListenerOptions) {
    this.#options = options;
  }

  /**
   * Listens, and returns the port. `localhost` has an address of IPv4 and one of IPv6, and clients use
   * either, so the server listens on both.
   */
  async listen(port: number, host: string): Promise<number> {
    const [first = host, ...others] = host === 'localhost' ? await addressesOf(host) : [host];
    const chosen = await this.#listenOn(port, first);
    for (const address of others)
      await this.#listenOn(chosen, address).catch((error: unknown) => {
        // The port may be in use at the other address, or the machine may not have this address.
        if (!/^EADDR|^EAFNOSUPPORT/.test(String((error as NodeJS.ErrnoException).code)))
          throw error;
      });
    return chosen;
  }

  async #listenOn(port: number, host: string): Promise<number> {
    const server = await this.#createServer();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject);
    server.listen({ port, host }, resolve);
    await promise;
    server.off('error', reject);
    this.#servers.push(server);
    this.#unusedConnections.push(new UnusedConnections(server));
    return (server.address() as AddressInfo).port;
  }

  /** Node's HTTP server is loaded here, because other entrances run where it does not exist. */
  async #createServer(): Promise<Server> {
    const { limits, onRequest, closing } = this.#options;
    const { createServer } = await import('node:http');
    const server = createServer({
      // The access check rejects requests without a host.
      requireHostHeader: false,
      maxHeaderSize: limits.maxHeaderBytes,
      requestTimeout: limits.requestTimeoutMs,
      headersTimeout: limits.headersTimeoutMs,
      keepAliveTimeout: limits.idleTimeoutMs,
      connectionsCheckingInterval: checkIntervalMs(limits),
    });
    server.maxConnections = limits.maxConnections;
    // Closes connections whose last response ends during shutdown. They would wait for a request
    // that is rejected.
    const closeIdle = () => closing.aborted && setImmediate(() => server.closeIdleConnections());
    server.on('request', (request, response) => {
      response.once('close', closeIdle);
      onRequest(request, response);
    });
    server.on('clientError', onClientError);
    return server;
  }

  /** Stops listening, and resolves when all connections are closed. Idle ones are closed at once. */
  async close(): Promise<void> {
    for (const unused of this.#unusedConnections) unused.close();
    await Promise.all(this.#servers.map(closeServer));
  }

  /** Closes connections whose requests are not answered. */
  closeAllConnections(): void {
    for (const server of this.#servers) server.closeAllConnections();
  }
}

async function closeServer(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeIdleConnections();
  await promise;
}

async function addressesOf(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return [...new Set(found.map(({ address }) => address))];
}

/** How often Node checks for requests that exceed their timeout. */
function checkIntervalMs({ headersTimeoutMs, requestTimeoutMs }: HttpLimits): number {
  return Math.max(10, Math.min(1000, headersTimeoutMs / 2, requestTimeoutMs / 2));
}
