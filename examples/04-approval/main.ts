// A call that waits for a person. Run it with
//   npx node --conditions=@millrace/source examples/04-approval/main.ts [yes|no]
import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';

const [answer = 'yes'] = process.argv.slice(2);

const pay = defineTool({
  name: 'pay',
  description: 'Pays somebody',
  input: z.object({ to: z.string(), euros: z.number() }),
  summarize: ({ to, euros }) => `pay ${euros} € to ${to}`,
  execute: async ({ to, euros }) => `${to} has ${euros} € more.`,
});

const asks = { kind: 'tool_call', toolCallId: toolCallId('call 1'), name: 'pay' } as const;
const provider = scriptedProvider([
  { content: { parts: [{ ...asks, arguments: '{"to":"the miller","euros":5}' }] } },
  ({ items }) => (JSON.stringify(items.at(-1)).includes('not allowed') ? 'As you wish.' : 'Paid.'),
]);

// Everything is allowed, or asked for, or denied, by whatever rule you write.
const approve = () => 'ask' as const;
const agent = createAgent({ provider, tools: [pay], approve });
const run = agent.run('Pay the miller');

for await (const event of run.events) {
  if (event.type === 'approval_asked') {
    console.log(`May I use ${event.name}? ${answer}`);
    if (answer === 'yes') await run.approve(event.id, { by: 'you' });
    else await run.deny(event.id, { reason: 'not today', by: 'you' });
  }
  if (event.type === 'tool_execution_finished') console.log('It was done.');
}
console.log((await run.result).text);
