// Replays a session without calling the model or the tools. Then it shows an earlier state and
// forks the session. Run it with
//   npx node --conditions=@millrace/source examples/08-replay/main.ts
import { createAgent, defineTool } from '@millrace/agent';
import { type Item, sessionId, toolCallId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';

let shipped = 0;
const ship = defineTool({
  name: 'ship_order',
  description: 'Ships an order',
  input: z.object({ order: z.number() }),
  execute: async ({ order }) => `order ${order} shipped, ${++shipped} in total`,
});
const call = { kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'ship_order' } as const;
const ships = { content: { parts: ['Shipping.', { ...call, arguments: '{"order":17}' }] } };
const provider = scriptedProvider([ships, 'It is shipped.', 'I cannot cancel it.']);
const log = memoryLog();
const agent = createAgent({ provider, tools: [ship], log });
const session = sessionId('order 17');
await agent.run('Ship order 17', { session }).result;

// The replay runs the same agent loop. The outputs of the model and of the tool come from the log.
const { records, divergence } = await agent.replay(session);
console.log(`${records.length} records replayed, orders shipped: ${shipped}`);
// An agent without the tool writes different records. The replay reports the first difference.
const other = createAgent({ provider, tools: [], log });
console.log(divergence ?? 'no difference', '|', (await other.replay(session)).divergence?.message);

// Reads the state at an earlier offset. The code below changes a message to fork the session.
const earlier = transcript(await snapshot(log, session, { through: 6 }));
const [message] = earlier as readonly [Item, ...Item[]];
const { text, session: fork } = await agent.edit(session, message.id, 'Cancel order 17').result;
console.log(
  `earlier: ${earlier.length} items; edited: “${text}” in ${fork === session ? 'place' : 'a fork'}`,
);
