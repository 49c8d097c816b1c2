import { expect, test } from 'vitest';
import { resultLine, startRemoteAgent } from '../../testing/servers/remote-agent.ts';
import { collect, createTaskHarness } from '../../testing/servers/task-harness.ts';

test('18.1370: attack: a remote agent changes the format of a long text again and again, and the server sends the text each time', async () => {
  const text = 'x'.repeat(300_000);
  const start = (format: string) => ({
    ...{ type: 'start', index: 0 },
    content: { type: 'text', author: 'agent', content: '', format },
  });
  const append = { type: 'delta', index: 0, delta: { type: 'text', text_delta: text } };
  const formats = Array.from({ length: 300 }, (_, at) => start(at % 2 === 0 ? 'code' : 'markdown'));
  const lines = [start('markdown'), append, ...formats].map((update) => resultLine(update));
  const remote = await startRemoteAgent((_, response) => {
    response.setHeader('content-type', 'application/x-ndjson');
    response.end(lines.join(''));
  });
  const { service, newTask, send, messages } = await createTaskHarness([]);
  await service.agents.register({
    ...{ name: 'far', description: 'Far away', acp_url: remote.url, acp_type: 'sync' },
  });
  const { id } = await newTask('far');
  const sent = await collect((await send('far', id, 'go')).updates());
  const full = sent.filter(({ type }) => type === 'full');
  // The first changes apply, and the server sends at most 8 Mi characters for them.
  expect(full.length).toBeGreaterThan(5);
  expect(full.length * text.length).toBeLessThanOrEqual(2 ** 23);
  expect((await messages(id)).at(-1)).toMatchObject({ content: { content: text } });
});
