// Creates an agent with one tool. Run it with
//   npx node --conditions=@millrace/source examples/03-first-agent/main.ts
import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';

const weather = defineTool({
  name: 'weather',
  description: 'Returns the current weather in a town',
  input: z.object({ town: z.string() }),
  effects: 'none',
  summarize: ({ town }) => `the weather in ${town}`,
  execute: async ({ town }) => `${town}: rain, 12 °C`,
});

const call = { kind: 'tool_call', toolCallId: toolCallId('call 1'), name: 'weather' } as const;
// In production, use anthropic({ model: '…' }) or openaiResponses({ model: '…' }) from '@millrace/providers'.
const provider = scriptedProvider(
  [
    { content: { parts: ['Let me check. ', { ...call, arguments: '{"town":"Bath"}' }] } },
    'Take a coat: it is raining in Bath.',
  ],
  { pieces: 'token' },
);

const agent = createAgent({ provider, tools: [weather], instructions: 'Be brief.' });
const run = agent.run('Do I need a coat in Bath?');

for await (const event of run.events) {
  if (event.type === 'assistant_text_delta') process.stdout.write(event.text);
  if (event.type === 'tool_execution_started') console.log(`\n[${event.summary} …]`);
}
const { stop, usage } = await run.result;
console.log(`\n(${stop.reason}; ${usage.output} tokens out)`);
