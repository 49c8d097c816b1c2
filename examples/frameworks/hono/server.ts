// Mounts the agents in a Hono app. The route /api/chat needs no Millrace server, because it runs
// the agent itself and streams the run to the AI SDK's useChat.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { agent, server } from '../weather-agent.ts';

const app = new Hono();
app.all('/api/agents/*', (context) => server.fetch(context.req.raw));
app.post('/api/chat', async (context) => {
  const { messages } = await context.req.json();
  const run = agent.run(String(messages.at(-1).parts[0].text), { signal: context.req.raw.signal });
  return run.toUIMessageStreamResponse();
});
app.get('/', (context) => context.text('Hello from Hono'));

serve(
  { fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env['PORT'] ?? 3000) },
  (at) => console.log(`http://127.0.0.1:${at.port}`),
);
