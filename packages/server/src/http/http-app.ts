import type { HttpRequest, HttpResponse, OnBytes } from '../contract/http.ts';
import { ServerError } from '../contract/server-error.ts';
import { isCardRoute } from '../routes/a2a/a2a-routes.ts';
import { offeredAgents } from '../routes/a2a/agent-card.ts';
import { a2aErrorFormat } from '../routes/a2a/protocol/a2a-error.ts';
import { allRoutes } from '../routes/all-routes.ts';
import { isOpenAiPath, openAiErrorReply } from '../routes/openai/openai-error.ts';
import { isStreamPath, streamErrorReply } from '../routes/streams/request-headers.ts';
import { SharedRead } from '../stores/shared-read.ts';
import { type AccessPolicy, checkAccess } from './access/check-access.ts';
import type { CopyLimits } from './access/copy-limit.ts';
import { restrictedName, shareOf } from './access/fair-share.ts';
import { ReceivedBodies } from './access/received-bodies.ts';
import {
  bodyTimeout,
  bodyTooLarge,
  headersTooLarge,
  notBytes,
  notJson,
  routeNotFound,
  tooManyUploads,
} from './error-reply.ts';
import { handleRoute } from './handle-route.ts';
import { HttpExchange } from './http-exchange.ts';
import { type HttpLimits, maxHeaderFields } from './http-limits.ts';
import type { OpenStreams } from './open-connections.ts';
import { pageRoutes } from './page-files.ts';
import type { ReplyTurns } from './replies/reply-turns.ts';
import type { UnreadReplies } from './replies/unread-replies.ts';
import type { RequestLog } from './request-log.ts';
import type { Route, RouteServices } from './route.ts';
import { type FoundRoute, parseQuery, Router, readTarget } from './router.ts';

interface HttpAppOptions extends RouteServices {
  readonly limits: HttpLimits;
  readonly copyLimits: CopyLimits;
  readonly requestLog: RequestLog;
  readonly openStreams: OpenStreams;
  readonly unreadReplies: UnreadReplies;
  readonly replyTurns: ReplyTurns;
  readonly access: AccessPolicy;
  readonly page?: string | undefined;
  /** Resolves when the services are ready. The app calls it for each request that passed the access check. */
  readonly ready?: (() => Promise<void>) | undefined;
  /** The signal is aborted when the server closes. */
  readonly closing: AbortSignal;
}

// Pages of other sites cannot send these content types unless the server permits it through CORS.
const jsonType = /^application\/(?:a2a\+)?json[ \t]*(?:;|$)/i;
// A page of a different site cannot send this content type unless the server permits it through CORS.
const fileType = /^application\/octet-stream$/i;

/**
 * All routes with their access checks and limits. Each adapter passes its requests to `handle`. The adapters
 * are the server's own port, `fetch`, and the handler for Node frameworks.
 */
export class HttpApp {
  readonly #options: HttpAppOptions;
  readonly #router: Router;
  /** The responses that are not finished. */
  readonly #open = new Set<HttpResponse>();
  #onIdle: (() => void) | undefined;
  /** The callers of the files that are being received. Undefined stands for full access. */
  readonly #uploads: (string | undefined)[] = [];
  readonly #received: ReceivedBodies;

  constructor(options: HttpAppOptions) {
    const { a2a, clock, service } = options;
    const hasPublicCards = a2a?.publicCards === true;
    const publicAgents = hasPublicCards
      ? new SharedRead(clock, () => offeredAgents(service))
      : undefined;
    this.#options = { ...options, publicAgents };
    this.#received = new ReceivedBodies(options.limits.maxBodyBytes);
    const isPublic = hasPublicCards ? isCardRoute : () => false;
    const routes = allRoutes.map((one) =>
      isPublic(one) ? ({ ...one, access: 'public' } as const) : one,
    );
    this.#router = new Router([...routes, ...pageFileRoutes(options)]);
  }

  /** Answers a request. It never rejects. */
  async handle(request: HttpRequest, response: HttpResponse): Promise<void> {
    // While the request waited, a framework can have answered it, for example after a timeout.
    if (response.headersSent || response.destroyed) return;
    this.#track(response);
    const exchange = new HttpExchange(request, response, this.#options);
    try {
      await this.#answer(exchange);
    } catch (error) {
      exchange.sendError(error);
    }
  }

  async #answer(exchange: HttpExchange): Promise<void> {
    const { request } = exchange;
    const { limits, access, ready } = this.#options;
    const { headBytes, headFields } = request;
    if (headBytes > limits.maxHeaderBytes || headFields > maxHeaderFields) throw headersTooLarge();
    const target = readTarget(request.url, request.basePath);
    if (target !== undefined && isOpenAiPath(target.path)) exchange.formatError = openAiErrorReply;
    if (target !== undefined && isStreamPath(target.path)) exchange.formatError = streamErrorReply;
    const format = target && a2aErrorFormat(target.path);
    if (format !== undefined) exchange.formatError = format;
    const found = target && this.#find(request.method, target.path);
    const route = found instanceof ServerError ? undefined : found?.route;
    if ((await checkAccess(exchange, access, route)) === 'answered') return;
    if (found instanceof ServerError) throw found;
    if (found === undefined) throw routeNotFound(request.method, target?.path, allRoutes);
    await ready?.();
    const caller = restrictedName(exchange.grant);
    const received = caller === undefined ? undefined : this.#received.receive(caller);
    try {
      const bytes = await this.#readBody(exchange, found.route, received?.onBytes);
      const input = { params: found.params, query: parseQuery(target?.query ?? ''), bytes };
      await handleRoute(found.route, exchange, input, this.#options, received?.release);
    } finally {
      received?.release();
    }
  }

  /**
   * Finds the route of a request. It returns the error for an invalid path and does not throw it, because the
   * access check must come first. HEAD also works for routes whose GET needs no token, because load balancers and
   * link checkers use it.
   */
  #find(method: string, path: string): FoundRoute | ServerError | undefined {
    try {
      const own = this.#router.find(method, path);
      if (own !== undefined || method !== 'HEAD') return own;
      const found = this.#router.find('GET', path);
      return found?.route.access === 'public' ? found : undefined;
    } catch (error) {
      if (error instanceof ServerError) return error;
      throw error;
    }
  }

  /** Reads the body as bytes. The routes parse the bytes with their own limits and error format. */
  async #readBody(
    { request, grant }: HttpExchange,
    { takesFile, takesAny, isLarge }: Route,
    onBytes: OnBytes | undefined,
  ): Promise<Buffer | undefined> {
    const { limits } = this.#options;
    if (takesAny === true) return this.#readBytes(request, undefined, limits.maxBodyBytes, onBytes);
    if (takesFile !== true && isLarge !== true)
      return this.#readBytes(request, jsonType, limits.maxBodyBytes, onBytes);
    const caller = restrictedName(grant);
    const own = this.#uploads.filter((one) => one === caller).length;
    const isOverShare = caller !== undefined && own >= shareOf(limits.maxUploads);
    if (isOverShare || this.#uploads.length >= limits.maxUploads) throw tooManyUploads();
    this.#uploads.push(caller);
    try {
      const type = takesFile === true ? fileType : jsonType;
      return await this.#readBytes(request, type, limits.maxFileBytes);
    } finally {
      this.#uploads.splice(this.#uploads.indexOf(caller), 1);
    }
  }

  async #readBytes(
    request: HttpRequest,
    expectedType: RegExp | undefined,
    maxBytes: number,
    onBytes?: OnBytes,
  ): Promise<Buffer | undefined> {
    const { method, headers } = request;
    const type = headers['content-type'];
    const isExpected = method !== 'GET' && method !== 'HEAD';
    if (!isExpected || (type === undefined && !request.hasBody)) return undefined;
    if (expectedType !== undefined && (type === undefined || !expectedType.test(type)))
      throw expectedType === fileType ? notBytes() : notJson();
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw bodyTooLarge();
    const late = new AbortController();
    const { clock, limits } = this.#options;
    const stop = clock.after(limits.requestTimeoutMs, () => late.abort(bodyTimeout()), {
      isIdle: true,
    });
    try {
      return await request.readBody(maxBytes, late.signal, onBytes);
    } finally {
      stop();
    }
  }

  #track(response: HttpResponse): void {
    this.#open.add(response);
    response.once('close', () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#onIdle?.();
    });
  }

  /** Resolves when all responses are finished. */
  idle(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** Disconnects the clients whose responses are not finished. */
  disconnectAll(): void {
    for (const response of [...this.#open]) response.destroy();
  }
}

/** Returns the routes for the files of the page. It omits files whose path is a path of the API. */
function pageFileRoutes({ page }: HttpAppOptions): readonly Route[] {
  const known = new Set(allRoutes.map(({ path }) => path));
  return page === undefined ? [] : pageRoutes(page).filter(({ path }) => !known.has(path));
}
