// Mounts the agents in a Fastify app, next to its other routes.
import { fastifyPlugin } from '@millrace/server/fastify';
import fastify from 'fastify';
import { server } from '../weather-agent.ts';

const app = fastify({ forceCloseConnections: true });
await app.register(fastifyPlugin(server), { prefix: '/api/agents' });
app.get('/', async () => 'Hello from Fastify');
app.addHook('onClose', () => server.close());

console.log(await app.listen({ port: Number(process.env['PORT'] ?? 3000), host: '127.0.0.1' }));
