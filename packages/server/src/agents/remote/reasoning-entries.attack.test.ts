import { expect, test } from 'vitest';
import type { Content } from '../../contract/content.ts';
import { resultLine, startRemoteAgent } from '../../testing/servers/remote-agent.ts';
import { agentText, collect, createTaskHarness } from '../../testing/servers/task-harness.ts';

// A remote agent wants the server to send a block of reasoning again for each of its many entries.

const entry = 'x'.repeat(200);
const open = Array.from({ length: 500 }, (_, content_index) => ({
  ...{ type: 'delta', index: 0 },
  delta: { type: 'reasoning_content', content_index, content_delta: entry },
}));
const block: Content = {
  ...{ type: 'reasoning', author: 'agent', style: 'static', summary: [] },
  content: Array(500).fill(entry),
};

test.each([
  ['18.1361', 'replaces many open entries by a text', open, agentText('hi')],
  ['18.1362', 'replaces a block by many entries', [], block],
  ['18.1363', 'replaces many open entries by many others', open, block],
])('%s: attack: a remote agent %s', async (_, __, deltas, content) => {
  const updates = [...deltas, { type: 'full', index: 0, content }];
  const lines = updates.map((update) => resultLine(update)).join('');
  const remote = await startRemoteAgent((___, response) => {
    response.setHeader('content-type', 'application/x-ndjson');
    response.end(lines);
  });
  const { service, newTask, send, messages } = await createTaskHarness([]);
  await service.agents.register({
    ...{ name: 'far', description: 'Far away', acp_url: remote.url, acp_type: 'sync' },
  });
  const { id } = await newTask('far');
  const sent = await collect((await send('far', id, 'go')).updates());
  expect(JSON.stringify(sent).length).toBeLessThan(10 * lines.length);
  expect((await messages(id)).at(-1)).toMatchObject({ content });
});
