import type { AddressInfo } from 'node:net';
import type { Clock } from '@millrace/log';
import type { FastifyInstance } from 'fastify';
import { ServerError } from '../contract/server-error.ts';
import { callerOfToken } from './access/check-access.ts';
import { isLoopback } from './access/host-and-origin.ts';
import { GuessLimit, RateLimit } from './access/rate-limit.ts';
import { createHttpApp } from './http-app.ts';
import { defaultHttpLimits, type HttpLimits } from './http-limits.ts';
import { OpenStreams, UnusedConnections } from './open-connections.ts';
import { RequestLog, type RequestLogOptions } from './request-log.ts';
import type { RouteServices } from './route.ts';

export interface HttpServerOptions extends RouteServices {
  readonly hosts?: readonly string[] | undefined;
  readonly origins?: readonly string[] | undefined;
  readonly limits?: Partial<HttpLimits> | undefined;
  readonly requestLog?: RequestLogOptions | undefined;
  readonly page?: string | undefined;
}

/** Where a server listens. */
export interface ListenOptions {
  /** 0 selects a free port. Default: 5003. */
  readonly port?: number | undefined;
  /** Other addresses than loopback need a token. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
}

/** The default port of Agentex clients. */
const defaultPort = 5003;

/** Serves the routes on a port until it is closed. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #limits: HttpLimits;
  readonly #closing = new AbortController();
  readonly #hosts: Set<string>;
  readonly #app: FastifyInstance;
  readonly #unusedConnections: UnusedConnections;
  #closed: Promise<void> | undefined;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    const { clock, tokens, hosts = [], origins = [] } = options;
    this.#limits = { ...defaultHttpLimits, ...options.limits };
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
    const closing = this.#closing.signal;
    const openStreams = new OpenStreams(this.#limits.maxStreamsPerCaller, clock);
    tokens.onRevoked((id) => openStreams.disconnect(callerOfToken(id)));
    this.#app = createHttpApp({
      ...options,
      limits: this.#limits,
      requestLog: new RequestLog(options.requestLog, clock),
      openStreams,
      closing,
      access: {
        hosts: this.#hosts,
        origins: new Set(origins),
        ...createRateLimits(clock, this.#limits),
        tokens,
        closing,
      },
    });
    const { server } = this.#app;
    this.#unusedConnections = new UnusedConnections(server);
    // Closes connections whose last response ends during shutdown. They would wait for a request
    // that is rejected.
    const closeIdle = () => closing.aborted && setImmediate(() => server.closeIdleConnections());
    server.on('request', (_request, response) => response.once('close', closeIdle));
  }

  async listen({ port = defaultPort, host = '127.0.0.1' }: ListenOptions = {}) {
    if (!isLoopback(host)) this.#requireToken(host);
    this.#hosts.add(host.toLowerCase());
    await this.#app.listen({ port, host });
    const address = this.#app.server.address() as AddressInfo;
    const displayHost = host.includes(':') ? `[${host}]` : host;
    return { url: `http://${displayHost}:${address.port}` };
  }

  /**
   * Rejects new requests, waits for running ones, and closes the remaining connections after
   * `closeTimeoutMs`.
   */
  close(finish: () => Promise<void> = async () => {}): Promise<void> {
    this.#closed ??= this.#close(finish);
    return this.#closed;
  }

  async #close(finish: () => Promise<void>): Promise<void> {
    this.#closing.abort();
    const { clock, streams } = this.#options;
    const { closeTimeoutMs } = this.#limits;
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const stop = clock.after(closeTimeoutMs, resolve);
    const withTimeout = (work: Promise<unknown>) => Promise.race([work, timeout]);
    try {
      await withTimeout(finish());
    } finally {
      await withTimeout(streams.close());
      this.#unusedConnections.close();
      const closed = this.#app.close();
      await withTimeout(closed);
      this.#app.server.closeAllConnections();
      await closed;
      stop();
    }
  }

  /** Outside loopback every request needs a token. */
  #requireToken(host: string): void {
    if (this.#options.tokens.isRequired) return;
    const message = `Cannot listen on ${host} without a token: everybody in the network could use the agents. Set \`tokens\`, or listen on 127.0.0.1`;
    throw new ServerError('unauthorized', message, { host });
  }
}

function createRateLimits(clock: Clock, limits: HttpLimits) {
  const { requestsPerSecond, requestBurst, wrongTokensPerSecond, wrongTokenBurst } = limits;
  return {
    rateLimit: new RateLimit(clock, { perSecond: requestsPerSecond, burst: requestBurst }),
    guessLimit: new GuessLimit(clock, { perSecond: wrongTokensPerSecond, burst: wrongTokenBurst }),
  };
}
