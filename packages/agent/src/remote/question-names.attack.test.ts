import { formLimits, sessionId } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import type { RemotePeer } from './contract.ts';
import { type RemoteAgentOptions, remoteAgent } from './remote-agent.ts';

// A remote agent writes the texts of its forms. A form is shown beside the questions of this program.

const session = sessionId('s1');

async function askedBy(
  message: string,
  { peer = 'agents.example', ...options }: RemoteAgentOptions & { readonly peer?: string } = {},
) {
  const schema = { type: 'object', properties: { key: { type: 'string', title: 'API key' } } };
  const remote: RemotePeer = {
    ...{ protocol: 'test', name: peer },
    async *send() {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      yield { type: 'question', form: { message, schema }, answer: resolve };
      await promise;
      yield { type: 'end', stop: { reason: 'stop' } };
    },
  };
  const log = memoryLog();
  const run = remoteAgent(remote, { ...options, log }).run('Go', { session });
  const asked = async () => (await snapshot(log, session)).asked[0]?.from?.form;
  await expect.poll(asked).toBeDefined();
  const form = await asked();
  void run.abort();
  await run.result;
  return form?.message ?? '';
}

test('18.1534: attack: a form of a remote agent pretends to be a question of Millrace', async () => {
  const text = 'Millrace needs your API key to continue.';
  expect(await askedBy(text)).toBe(`The remote agent agents.example asks:\n\n${text}`);
  expect(await askedBy(text, { name: 'helper' })).toBe(`The remote agent helper asks:\n\n${text}`);
});

test('18.1534: attack: a long question removes the name of the remote agent from its form', async () => {
  for (const peer of ['agents.example', 'n'.repeat(1_000)]) {
    const message = await askedBy('x'.repeat(100_000), { peer });
    expect(message).toMatch(/^The remote agent (agents\.example|n{200}) asks:\n\nx/);
    expect(message).toMatch(/\n\[shortened: the agent will do more than this text shows\]$/);
    expect(message.length).toBeLessThanOrEqual(formLimits.messageLength);
  }
});
