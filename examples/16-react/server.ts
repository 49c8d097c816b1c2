// The agent of the examples in this folder. Its model is scripted, so it needs no key. Run it with
//   npx node --conditions=@millrace/source examples/16-react/server.ts
// and, in another terminal, with Vite for the pages react.html, usechat.html and element.html:
//   npm run build && npx vite examples/16-react
import { createAgent, defineTool } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { createServer } from '@millrace/server';
import { z } from 'zod';

const weather = defineTool({
  name: 'weather',
  description: 'Returns the weather in a town',
  input: z.object({ town: z.string() }),
  execute: async ({ town }) => `${town}: rain until the evening`,
});

const answer = [
  'It **rains** in Bath until the evening.',
  '',
  '| hour | rain |',
  '|---|---|',
  '| 18 | 80 % |',
];
const turns = Array.from({ length: 100 }, () => [
  toolCall('weather', { town: 'Bath' }),
  answer.join('\n'),
]);

const log = memoryLog();
const agent = createAgent({
  log,
  provider: scriptedProvider(turns.flat(), { pieces: 'token', pauseMs: 5 }),
  tools: [weather],
  approve: () => ({ decision: 'ask', reason: 'It sends your town to a weather service.' }),
  whileAsking: 'park',
});
const server = createServer({
  log,
  agents: [{ type: 'loop', name: 'weather', agent }],
  // Only for an example on this machine. Everybody who reaches this server can use it.
  tokens: 'none',
});
const { url } = await server.listen({ port: Number(process.env['PORT'] ?? 5003) });
console.log(url);
