import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { allRoutes } from '../routes/all-routes.ts';
import { type Gate, passGate } from './access/gate.ts';
import { answerRoute } from './answer-route.ts';
import { fastifyRefusal, notFound, onClientError } from './error-reply.ts';
import { AnsweredRequest } from './http-exchange.ts';
import type { HttpLimits } from './http-limits.ts';
import type { OpenStreams } from './open-connections.ts';
import { pageRoutes } from './page-files.ts';
import type { RequestLog } from './request-log.ts';
import type { Route, RouteServices } from './route.ts';

interface HttpAppOptions extends RouteServices {
  readonly limits: HttpLimits;
  readonly requestLog: RequestLog;
  readonly openStreams: OpenStreams;
  readonly gate: Gate;
  readonly page?: string | undefined;
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
}

/** The table of routes behind the gate, with all its limits. It does not listen yet. */
export function createHttpApp(options: HttpAppOptions): FastifyInstance {
  const { limits, gate } = options;
  const app = fastify({
    bodyLimit: limits.maxBodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.idleTimeoutMs,
    forceCloseConnections: 'idle',
    // What comes while it closes is refused in our own words, by the gate.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: limits.maxHeaderBytes },
    http: {
      // The gate says so, in words.
      requireHostHeader: false,
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: checkingMs(limits),
    },
    clientErrorHandler: onClientError,
    frameworkErrors: (error, request, reply) => {
      const answered = begin(options, request, reply);
      void answered.refuse(fastifyRefusal(error) ?? error);
    },
  });
  app.server.maxConnections = limits.maxConnections;
  app.removeAllContentTypeParsers();
  // As bytes: how deep JSON may be, and what a refusal looks like, is for us to say.
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  const all = new WeakMap<FastifyRequest, AnsweredRequest>();
  const of = (request: FastifyRequest, reply: FastifyReply) => {
    const answered = all.get(request) ?? begin(options, request, reply);
    all.set(request, answered);
    return answered;
  };
  app.addHook('onRequest', (request, reply) =>
    passGate(of(request, reply), gate, routeOf(request)),
  );
  app.setErrorHandler((error, request, reply) =>
    of(request, reply).refuse(fastifyRefusal(error) ?? error),
  );
  app.setNotFoundHandler((request, reply) =>
    of(request, reply).refuse(notFound(request, allRoutes)),
  );
  for (const route of [...allRoutes, ...filesOf(options)]) {
    app.route({
      method: route.method,
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { route },
      handler: (request, reply) => answerRoute(route, of(request, reply), options),
    });
  }
  return app;
}

/** What the page's folder has, and no route. */
function filesOf({ page }: HttpAppOptions): readonly Route[] {
  const known = new Set(allRoutes.map(({ path }) => path));
  return page === undefined ? [] : pageRoutes(page).filter(({ path }) => !known.has(path));
}

function begin(options: HttpAppOptions, request: FastifyRequest, reply: FastifyReply) {
  return new AnsweredRequest(request, reply, options);
}

function routeOf(request: FastifyRequest): Route | undefined {
  return (request.routeOptions.config as { readonly route?: Route }).route;
}

/** Node looks for requests that take too long as often as that. */
function checkingMs({ headersTimeoutMs, requestTimeoutMs }: HttpLimits): number {
  return Math.max(10, Math.min(1000, headersTimeoutMs / 2, requestTimeoutMs / 2));
}
