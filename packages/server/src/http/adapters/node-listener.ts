import { lookup } from 'node:dns/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@millrace/log';
import { ConnectionLimit } from '../access/connection-limit.ts';
import { onClientError } from '../error-reply.ts';
import { type HttpLimits, maxHeaderFields } from '../http-limits.ts';
import { UnusedConnections } from '../open-connections.ts';
import { ParseTurns } from './parse-turns.ts';

interface NodeListenerOptions {
  readonly limits: HttpLimits;
  readonly clock: Pick<Clock, 'now'>;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** The signal is aborted when the server closes. */
  readonly closing: AbortSignal;
}

/** Listens for HTTP requests on a port of the server. */
export class NodeListener {
  readonly #options: NodeListenerOptions;
  readonly #connections: ConnectionLimit;
  readonly #parseTurns = new ParseTurns();
  readonly #servers: Server[] = [];
  readonly #unusedConnections: UnusedConnections[] = [];

  constructor(options: NodeListenerOptions) {
    this.#options = options;
    this.#connections = new ConnectionLimit(options.limits.maxConnections, options.clock);
  }

  /**
   * Starts to listen and returns the port. `localhost` can mean an IPv4 or an IPv6 address, and clients use
   * either of them. The server therefore listens on both.
   */
  async listen(port: number, host: string): Promise<number> {
    const [first = host, ...others] = host === 'localhost' ? await addressesOf(host) : [host];
    const chosen = await this.#listenOn(port, first);
    for (const address of others)
      await this.#listenOn(chosen, address).catch((error: unknown) => {
        // The port may be in use at the second address, or the machine may not have this address. Neither
        // case is an error.
        if (!/^EADDR|^EAFNOSUPPORT/.test(String((error as NodeJS.ErrnoException).code)))
          throw error;
      });
    return chosen;
  }

  async #listenOn(port: number, host: string): Promise<number> {
    const server = await this.#createServer();
    const files = await openFilesLimit();
    this.#connections.lowerTo(Math.max(files / 2, files - reservedFiles));
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
   * Creates a Node HTTP server. `node:http` is imported only here, because it does not exist in all runtimes
   * that use `fetch`.
   */
  async #createServer(): Promise<Server> {
    const { limits, onRequest, closing } = this.#options;
    const { createServer } = await import('node:http');
    const server = createServer({
      // Node does not need to check the header, because the access check refuses requests without a host.
      requireHostHeader: false,
      maxHeaderSize: limits.maxHeaderBytes,
      requestTimeout: limits.requestTimeoutMs,
      headersTimeout: limits.headersTimeoutMs,
      keepAliveTimeout: limits.idleTimeoutMs,
      connectionsCheckingInterval: checkIntervalMs(limits),
    });
    // Node ignores further fields without an error. The app refuses the request, because it has more than the half.
    server.maxHeadersCount = 2 * maxHeaderFields;
    this.#connections.watch(server);
    // Closes a connection when its last response ends during shutdown. Otherwise the connection would stay
    // open for a next request, which the server would refuse.
    const closeIdle = () => closing.aborted && setImmediate(() => server.closeIdleConnections());
    server.on('request', (request, response) => {
      response.once('close', closeIdle);
      onRequest(request, response);
    });
    this.#parseTurns.watch(server);
    // Without this listener, Node itself answers a request that expects anything else than '100-continue'. Such
    // requests would pass by all limits.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    server.on('clientError', onClientError);
    return server;
  }

  /** Treats the connections of a caller like those of an unknown caller, because its token was revoked. */
  endAdmissions(caller: string): void {
    this.#connections.endAdmissions(caller);
  }

  /** Stops listening. Resolves when all connections are closed. Idle connections are closed immediately. */
  async close(): Promise<void> {
    for (const unused of this.#unusedConnections) unused.close();
    await Promise.all(this.#servers.map(closeServer));
  }

  /** Closes all connections, including those with unanswered requests. */
  closeAllConnections(): void {
    for (const server of this.#servers) server.closeAllConnections();
  }
}

/** Files and sockets that the process can open in addition to the connections of clients. */
const reservedFiles = 512;

/**
 * Returns how many files and sockets the process can have open. Above this number, the system refuses new connections
 * before the server can replace an old one. Returns Infinity on systems that do not tell the number in a file.
 */
async function openFilesLimit(): Promise<number> {
  const { readFile } = await import('node:fs/promises');
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const [, files] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return files === undefined ? Number.POSITIVE_INFINITY : Number(files);
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
