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

/** Listens for HTTP requests on a port of the server. */
export class NodeListener {
  readonly #options: NodeListenerOptions;
  readonly #servers: Server[] = [];
  readonly #unusedConnections: UnusedConnections[] = [];

  constructor(options: NodeListenerOptions) {
    this.#options = options;
  }

  /**
   * Starts to listen and returns the port. `localhost` has an IPv4 address and an IPv6 address, and clients
   * use either. The server therefore listens on both.
   */
  async listen(port: number, host: string): Promise<number> {
    const [first = host, ...others] = host === 'localhost' ? await addressesOf(host) : [host];
    const chosen = await this.#listenOn(port, first);
    for (const address of others)
      await this.#listenOn(chosen, address).catch((error: unknown) => {
        // The port may be in use at the second address, or the machine may not have this address. Both are
        // allowed.
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

  /**
   * Creates a server of Node. The module is imported here, because it does not exist in the runtimes of
   * other entrances.
   */
  async #createServer(): Promise<Server> {
    const { limits, onRequest, closing } = this.#options;
    const { createServer } = await import('node:http');
    const server = createServer({
      // The access check refuses requests without a host, so Node does not have to.
      requireHostHeader: false,
      maxHeaderSize: limits.maxHeaderBytes,
      requestTimeout: limits.requestTimeoutMs,
      headersTimeout: limits.headersTimeoutMs,
      keepAliveTimeout: limits.idleTimeoutMs,
      connectionsCheckingInterval: checkIntervalMs(limits),
    });
    server.maxConnections = limits.maxConnections;
    // Closes a connection during shutdown when its last response ends. Otherwise the connection would wait
    // for another request, which would be refused.
    const closeIdle = () => closing.aborted && setImmediate(() => server.closeIdleConnections());
    server.on('request', (request, response) => {
      response.once('close', closeIdle);
      onRequest(request, response);
    });
    server.on('clientError', onClientError);
    return server;
  }

  /** Stops listening. Resolves when all connections are closed. Idle connections are closed at once. */
  async close(): Promise<void> {
    for (const unused of this.#unusedConnections) unused.close();
    await Promise.all(this.#servers.map(closeServer));
  }

  /** Closes all connections, including those whose requests are not answered yet. */
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

/** Returns how often Node checks for requests that exceed their timeout, in milliseconds. */
function checkIntervalMs({ headersTimeoutMs, requestTimeoutMs }: HttpLimits): number {
  return Math.max(10, Math.min(1000, headersTimeoutMs / 2, requestTimeoutMs / 2));
}
