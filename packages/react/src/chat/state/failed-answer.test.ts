import { createClient } from '@millrace/client';
import { createServer, type ServedAgent } from '@millrace/server';
import { expect, onTestFinished, test } from 'vitest';
import { english } from '../../labels/en.ts';
import { LiveSource } from './live-source.ts';

const flood: ServedAgent = {
  ...{
    type: 'sync',
    name: 'flood',
    description: 'Sends more messages than one answer may contain',
  },
  async *onMessage() {
    for (let index = 0; index < 1_100; index++)
      yield { type: 'full', index, content: { type: 'text', author: 'agent', content: 'more' } };
  },
};

test('an answer that exceeds a limit keeps its output and ends with an error', async () => {
  const server = createServer({ tokens: 'none', agents: [flood] });
  const { url } = await server.listen({ port: 0 });
  const client = createClient({ url });
  onTestFinished(async () => {
    client.close();
    await server.close();
  });
  const source = new LiveSource(await client.createTask({ agent: 'flood' }));
  const noticed = Promise.withResolvers<void>();
  source.subscribe(() => source.facts.notices.length > 0 && noticed.resolve());
  await source.handle.send('Go').catch(() => {});
  await noticed.promise;
  const [notice] = source.facts.notices;
  expect(notice).toMatchObject({ look: 'bad', after: source.itemIds.at(-1) });
  expect(notice?.text(english)).toContain('too many');
  expect(source.itemIds.length).toBeGreaterThan(1_000);
});
