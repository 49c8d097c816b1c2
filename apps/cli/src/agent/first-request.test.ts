import { sessionId } from '@millrace/core';
import { estimateTokens } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { testAgent } from '../testing/test-agent.ts';

/**
 * Maximum size of the first request if nothing is configured, because each request repeats this text.
 * `estimateTokens` counts JSON too high. A tokenizer (o200k) counts less.
 */
const maxTokens = 2100;

test('the first request with nothing configured is small', async () => {
  const provider = scriptedProvider(['Hello.']);
  const { agent } = await testAgent({ provider });
  await agent.run('Hi', { session: sessionId('s') }).result;
  const request = provider.requests[0]?.request ?? { items: [] };
  expect(estimateTokens(request)).toBeLessThanOrEqual(maxTokens);
});
