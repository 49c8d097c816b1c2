import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ServerError } from '../contract/server-error.ts';
import { callerOfToken } from './access/check-access.ts';
import { isLoopback } from './access/host-and-origin.ts';
import { RateLimit } from './access/rate-limit.ts';
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

export interface ListenOptions {
  readonly port?: number | undefined;
  readonly host?: string | undefined;
}

/** Where clients of Agentex look unless told. */
const defaultPort = 5003;

/** The routes on a socket, from the first request to the last. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #limits: HttpLimits;
  readonly #closing = new AbortController();
  readonly #hosts: Set<string>;
  readonly #app: FastifyInstance;
  readonly #silent: UnusedConnections;
  #isTokenNeeded: boolean;
  #closed: Promise<void> | undefined;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    const { clock, tokens, hosts = [], origins = [] } = options;
    this.#limits = { ...defaultHttpLimits, ...options.limits };
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.#isTokenNeeded = tokens.hasOperatorTokens;
    const closing = this.#closing.signal;
    const openStreams = new OpenStreams(this.#limits.maxStreamsPerCaller);
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
        rateLimit: new RateLimit(clock, this.#limits),
        tokens,
        isTokenRequired: () => this.#isTokenNeeded,
        closing,
      },
    });
    const { server } = this.#app;
    this.#silent = new UnusedConnections(server);
    // A connection whose last answer ends while the server closes would wait for a request that is not taken.
    const hangUp = () => closing.aborted && setImmediate(() => server.closeIdleConnections());
    server.on('request', (_request, response) => response.once('close', hangUp));
  }

  async listen({ port = defaultPort, host = '127.0.0.1' }: ListenOptions = {}) {
    if (!isLoopback(host)) await this.#needToken(host);
    this.#hosts.add(host.toLowerCase());
    await this.#app.listen({ port, host });
    const address = this.#app.server.address() as AddressInfo;
    const shown = host.includes(':') ? `[${host}]` : host;
    return { url: `http://${shown}:${address.port}` };
  }

  /** Refuses what comes, lets what is under way end, and cuts off what does not. */
  close(finish: () => Promise<void> = async () => {}): Promise<void> {
    this.#closed ??= this.#close(finish);
    return this.#closed;
  }

  async #close(finish: () => Promise<void>): Promise<void> {
    this.#closing.abort();
    const { clock, streams } = this.#options;
    const { closeTimeoutMs } = this.#limits;
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const stop = clock.after(closeTimeoutMs, resolve);
    const onTime = (work: Promise<unknown>) => Promise.race([work, isLate]);
    try {
      await onTime(finish());
    } finally {
      await onTime(streams.close());
      this.#silent.close();
      const closed = this.#app.close();
      await onTime(closed);
      this.#app.server.closeAllConnections();
      await closed;
      stop();
    }
  }

  /** Beyond this machine nobody is let in without a token, so that there has to be one. */
  async #needToken(host: string): Promise<void> {
    this.#isTokenNeeded = true;
    const { tokens } = this.#options;
    if (tokens.hasOperatorTokens || (await tokens.list()).length > 0) return;
    const message = `Cannot listen on ${host} without a token: everybody in the network could use the agents. Set \`tokens\`, or listen on 127.0.0.1`;
    throw new ServerError('unauthorized', message, { host });
  }
}
