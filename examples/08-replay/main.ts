// A session that is run again without running anything, looked at as it was, and gone on with from there.
//   npx node --conditions=@millrace/source examples/08-replay/main.ts
import { createAgent, defineTool } from '@millrace/agent';
import { type Item, sessionId, toolCallId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';

let opened = 0;
const gate = defineTool({
  name: 'open_gate',
  description: 'Opens the sluice gate',
  input: z.object({ cm: z.number() }),
  execute: async ({ cm }) => `open by ${cm} cm, ${++opened} times so far`,
});
const asks = { kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'open_gate' } as const;
const opens = { content: { parts: ['I open it.', { ...asks, arguments: '{"cm":20}' }] } };
const provider = scriptedProvider([opens, 'It is open.', 'I had rather not.']);
const log = memoryLog();
const agent = createAgent({ provider, tools: [gate], log });
const session = sessionId('morning');
await agent.run('Open the gate', { session }).result;

// The same loop, the same log: what the model and the tool said comes from the recording.
const { records, divergence } = await agent.replay(session);
console.log(`${records.length} records again, the gate was opened ${opened} time`);
// Another agent would not have written the same, and it is told from which record on.
const other = createAgent({ provider, tools: [], log });
console.log(divergence ?? 'the same', '|', (await other.replay(session)).divergence?.message);

// What was on the screen then, and what would have come of other words.
const then = transcript(await snapshot(log, session, { through: 6 }));
const [said] = then as readonly [Item, ...Item[]];
const { text, session: fork } = await agent.edit(session, said.id, 'Open it wide').result;
console.log(
  `then ${then.length} items; instead: “${text}” in ${fork === session ? 'it' : 'a fork'}`,
);
