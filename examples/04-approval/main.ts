// Asks a person to approve a tool call. Run it with
//   npx node --conditions=@millrace/source examples/04-approval/main.ts [yes|no]
import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';

const [answer = 'yes'] = process.argv.slice(2);

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order',
  input: z.object({ order: z.string(), euros: z.number() }),
  summarize: ({ order, euros }) => `refund ${euros} € for order ${order}`,
  execute: async ({ order, euros }) => `Refunded ${euros} € for order ${order}.`,
});

const call = { kind: 'tool_call', toolCallId: toolCallId('call 1'), name: 'refund' } as const;
const provider = scriptedProvider([
  { content: { parts: [{ ...call, arguments: '{"order":"A-17","euros":5}' }] } },
  ({ items }) =>
    JSON.stringify(items.at(-1)).includes('not allowed') ? 'No refund.' : 'Refunded.',
]);

// This function decides about each call: 'allow', 'ask' or 'deny'.
const approve = () => 'ask' as const;
const agent = createAgent({ provider, tools: [refund], approve });
const run = agent.run('Refund order A-17');

for await (const event of run.events) {
  if (event.type === 'approval_asked') {
    console.log(`Allow ${event.name}? ${answer}`);
    if (answer === 'yes') await run.approve(event.toolCallId, { by: 'you' });
    else await run.deny(event.toolCallId, { reason: 'not today', by: 'you' });
  }
  if (event.type === 'tool_execution_finished') console.log('The tool has run.');
}
console.log((await run.result).text);
