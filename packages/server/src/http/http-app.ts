import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { allRoutes } from '../routes/all-routes.ts';
import { type AccessPolicy, checkAccess } from './access/check-access.ts';
import { fastifyError, onClientError, routeNotFound } from './error-reply.ts';
import { handleRoute } from './handle-route.ts';
import { HttpExchange } from './http-exchange.ts';
import type { HttpLimits } from './http-limits.ts';
import { type OpenStreams, RequestsAhead } from './open-connections.ts';
import { pageRoutes } from './page-files.ts';
import type { RequestLog } from './request-log.ts';
import type { Route, RouteServices } from './route.ts';

interface HttpAppOptions extends RouteServices {
  readonly limits: HttpLimits;
  readonly requestLog: RequestLog;
  readonly openStreams: OpenStreams;
  readonly access: AccessPolicy;
  readonly page?: string | undefined;
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
}

/** Creates the Fastify app with all routes, access checks and limits. It does not listen yet. */
export function createHttpApp(options: HttpAppOptions): FastifyInstance {
  const { limits, access } = options;
  const requestsAhead = new RequestsAhead();
  const app = fastify({
    bodyLimit: limits.maxBodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.idleTimeoutMs,
    forceCloseConnections: 'idle',
    // The access check rejects requests while the server closes, with its own error format.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: limits.maxHeaderBytes },
    http: {
      // The access check rejects requests without a host.
      requireHostHeader: false,
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: checkIntervalMs(limits),
    },
    clientErrorHandler: onClientError,
    // Fastify calls no hook for these requests, but they need the same checks.
    frameworkErrors: (error, request, reply) => {
      if (!requestsAhead.accept(request.raw, reply.raw)) return void reply.hijack();
      const exchange = startExchange(options, request, reply);
      void checkAccess(exchange, access, undefined).then(() =>
        exchange.sendError(fastifyError(error) ?? error),
      );
    },
  });
  app.server.maxConnections = limits.maxConnections;
  app.removeAllContentTypeParsers();
  // The body stays bytes here. The routes parse it with their own limits and error format.
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  const all = new WeakMap<FastifyRequest, HttpExchange>();
  const of = (request: FastifyRequest, reply: FastifyReply) => {
    const exchange = all.get(request) ?? startExchange(options, request, reply);
    all.set(request, exchange);
    return exchange;
  };
  app.addHook('onRequest', async (request, reply) => {
    if (requestsAhead.accept(request.raw, reply.raw))
      return checkAccess(of(request, reply), access, routeOf(request));
    reply.hijack();
  });
  app.setErrorHandler((error, request, reply) =>
    of(request, reply).sendError(fastifyError(error) ?? error),
  );
  app.setNotFoundHandler((request, reply) =>
    of(request, reply).sendError(routeNotFound(request, allRoutes)),
  );
  for (const route of [...allRoutes, ...pageFileRoutes(options)]) {
    app.route({
      method: route.method,
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { route },
      handler: (request, reply) => handleRoute(route, of(request, reply), options),
    });
  }
  return app;
}

/** Routes for the files of the page, except paths that are API routes. */
function pageFileRoutes({ page }: HttpAppOptions): readonly Route[] {
  const known = new Set(allRoutes.map(({ path }) => path));
  return page === undefined ? [] : pageRoutes(page).filter(({ path }) => !known.has(path));
}

function startExchange(options: HttpAppOptions, request: FastifyRequest, reply: FastifyReply) {
  return new HttpExchange(request, reply, options);
}

function routeOf(request: FastifyRequest): Route | undefined {
  return (request.routeOptions.config as { readonly route?: Route }).route;
}

/** How often Node checks for requests that exceed their timeout. */
function checkIntervalMs({ headersTimeoutMs, requestTimeoutMs }: HttpLimits): number {
  return Math.max(10, Math.min(1000, headersTimeoutMs / 2, requestTimeoutMs / 2));
}
