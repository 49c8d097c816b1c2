import { createAgent } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { SessionView } from './session-view.ts';

const session = sessionId('s');

test('an opened session changes once for all earlier records, and then for each new batch', async () => {
  const log = memoryLog();
  onTestFinished(() => log.close());
  // The log returns this much text in several batches.
  const texts = ['one ', 'two ', 'three '].map((word) => word.repeat(4000));
  const agent = createAgent({ log, provider: scriptedProvider([...texts, 'New.']) });
  for (const _ of texts) await agent.run('Go', { session }).result;
  let changes = 0;
  let batches = 0;
  const view = new SessionView({
    ...{ log, session, print: () => {}, onEvent: () => {} },
    onChange: () => changes++,
    onBatch: async () => {
      batches++;
    },
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => view.close());
  const { count } = await view.open();
  expect(count).toBeGreaterThan(texts.length);
  expect(batches).toBeGreaterThan(1);
  expect(changes).toBe(1);
  await agent.run('Go on', { session }).result;
  await expect.poll(() => changes).toBeGreaterThan(1);
});
