import type { FastifyPluginAsync } from 'fastify';
import type { Server } from '../../create-server.ts';

/**
 * Serves a server's routes in a Fastify app, below the `prefix` of the registration. Hooks of the app
 * run before the checks of the server. Hooks that change a response have no effect on these routes,
 * because the server writes to the connection itself.
 *
 * @example
 * ```ts
 * const app = fastify();
 * await app.register(fastifyPlugin(server), { prefix: '/api/agents' });
 * ```
 */
export function fastifyPlugin(server: Pick<Server, 'handler'>): FastifyPluginAsync {
  return async (app) => {
    const handle = server.handler({ basePath: app.prefix });
    // The server reads the body itself, with its own limits. This concerns only these routes.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.all('/*', (request, reply) => {
      reply.hijack();
      handle(request.raw, reply.raw);
    });
  };
}
