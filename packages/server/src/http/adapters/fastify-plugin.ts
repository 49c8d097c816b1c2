import type { FastifyPluginAsync } from 'fastify';
import type { Server } from '../../create-server.ts';

/**
 * Serves the routes of a server in a Fastify app, below the `prefix` of the registration. Hooks of the app
 * run before the checks of the server. Hooks that change a response have no effect on these routes, because
 * the server writes directly to the connection.
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
    // Fastify must not parse the body, because the server reads it with its own limits. This affects only the
    // server's routes.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.all('/*', (request, reply) => {
      reply.hijack();
      handle(request.raw, reply.raw);
    });
  };
}
