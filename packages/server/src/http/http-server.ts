import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@millrace/log';
import { ServerError } from '../contract/server-error.ts';
import { defaultStreamLimits } from '../stream/stream-limits.ts';
import type { Authorize } from './access/authorized-user.ts';
import { type ClientAddress, callerOfToken, tokenOfCaller } from './access/check-access.ts';
import { CopyLimits } from './access/copy-limit.ts';
import { isLoopback } from './access/host-and-origin.ts';
import { GuessLimit, RateLimit } from './access/rate-limit.ts';
import { TrustedProxies } from './access/trusted-proxies.ts';
import { NodeListener } from './adapters/node-listener.ts';
import { fromNodeRequest } from './adapters/node-request.ts';
import { fromWebRequest, WebResponse } from './adapters/web-exchange.ts';
import { HttpApp } from './http-app.ts';
import { defaultHttpLimits, type HttpLimits } from './http-limits.ts';
import { OpenStreams, RequestsAhead } from './open-connections.ts';
import { ReplyTurns } from './replies/reply-turns.ts';
import { UnreadReplies } from './replies/unread-replies.ts';
import { RequestLog, type RequestLogOptions } from './request-log.ts';
import type { RouteServices } from './route.ts';
import { checkBasePath } from './router.ts';

export interface HttpServerOptions extends RouteServices {
  readonly hosts?: readonly string[] | undefined;
  readonly origins?: readonly string[] | undefined;
  readonly limits?: Partial<HttpLimits> | undefined;
  /** Maximum time in which a client reads nothing of its reply, in milliseconds. Default: 60,000. */
  readonly stallTimeoutMs?: number | undefined;
  readonly requestLog?: RequestLogOptions | undefined;
  readonly page?: string | undefined;
  readonly basePath?: string | undefined;
  readonly authorize?: Authorize | undefined;
  readonly clientAddress?: ClientAddress | undefined;
  readonly trustedProxies?: readonly string[] | undefined;
  readonly ready?: (() => Promise<void>) | undefined;
}

/** A function that answers a request of Node's HTTP server. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Options of `Server.handler`. */
export interface HandlerOptions {
  /** The path at which the handler is mounted. Default: `basePath` of the server. */
  readonly basePath?: string | undefined;
}

/** The address at which a server listens. */
export interface ListenOptions {
  /** The port. 0 selects a free port. Default: 5003. */
  readonly port?: number | undefined;
  /** The host name or address. Addresses other than loopback require `tokens`. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
}

/** The port that Agentex clients use by default. */
const defaultPort = 5003;

/** Serves the routes on a port, through `fetch`, and as a handler in Node servers. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #limits: HttpLimits;
  readonly #basePath: string;
  readonly #closing = new AbortController();
  readonly #hosts: Set<string>;
  readonly #app: HttpApp;
  readonly #listener: NodeListener;
  readonly #requestsAhead = new RequestsAhead();
  #closed: Promise<void> | undefined;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    const { clock, tokens, hosts = [], origins = [], authorize, clientAddress } = options;
    const { stallTimeoutMs = defaultStreamLimits.stallTimeoutMs } = options;
    this.#limits = { ...defaultHttpLimits, ...options.limits };
    this.#basePath = checkBasePath(options.basePath ?? '');
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
    const closing = this.#closing.signal;
    const openStreams = new OpenStreams(this.#limits.maxStreamsPerCaller, clock, async (caller) => {
      const id = tokenOfCaller(caller);
      return id === undefined || (await tokens.isValid(id));
    });
    tokens.onRevoked((id) => openStreams.disconnect(callerOfToken(id)));
    const unreadReplies = new UnreadReplies(clock, stallTimeoutMs);
    this.#app = new HttpApp({
      ...options,
      limits: this.#limits,
      copyLimits: new CopyLimits(clock, this.#limits.copiedBytesPerHour),
      requestLog: new RequestLog(options.requestLog, clock),
      openStreams,
      unreadReplies,
      replyTurns: new ReplyTurns(unreadReplies),
      closing,
      access: {
        hosts: this.#hosts,
        origins: new Set(origins),
        ...createRateLimits(clock, this.#limits),
        ...{ tokens, closing, authorize, clientAddress },
        proxies: new TrustedProxies(options.trustedProxies ?? []),
      },
    });
    const onRequest = this.handler();
    this.#listener = new NodeListener({ limits: this.#limits, clock, onRequest, closing });
    tokens.onRevoked((id) => this.#listener.endAdmissions(callerOfToken(id)));
  }

  async listen({ port = defaultPort, host = '127.0.0.1' }: ListenOptions = {}) {
    if (!isLoopback(host)) this.#requireToken(host);
    this.#hosts.add(host.toLowerCase());
    const chosen = await this.#listener.listen(port, host);
    const displayHost = host.includes(':') ? `[${host}]` : host;
    return { url: `http://${displayHost}:${chosen}${this.#basePath}` };
  }

  /** Answers a `Request` of the Fetch API. */
  async fetch(request: Request): Promise<Response> {
    const response = new WebResponse(request.signal, request.method);
    void this.#app.handle(fromWebRequest(request, this.#basePath), response);
    return response.response;
  }

  /** Returns a request handler for a Node HTTP server. */
  handler({ basePath = this.#basePath }: HandlerOptions = {}): NodeHandler {
    const path = checkBasePath(basePath);
    return (request, response) => {
      const answer = async () => this.#app.handle(fromNodeRequest(request, path), response);
      // An error here must not end the process.
      this.#requestsAhead.add(request, response, () => {
        answer().catch(() => response.destroy());
      });
    };
  }

  /**
   * Closes the server. It refuses new requests, waits for running requests, and closes the remaining
   * connections after `closeTimeoutMs`.
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
      const closed = this.#listener.close();
      await withTimeout(Promise.all([closed, this.#app.idle()]));
      this.#app.disconnectAll();
      this.#listener.closeAllConnections();
      await closed;
      stop();
    }
  }

  /**
   * Throws if the server requires no token and the host is not loopback. Other hosts require tokens.
   */
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
