import type { LogRecord } from '@millrace/core';
import { anthropic, gemini, openaiChat, openaiResponses } from '@millrace/providers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../core/src/testing/runs.ts';
import { cachedRequest, cacheFaults } from '../../providers/src/testing/cache-law.ts';
import { type CachedWire, runSession } from './testing/cache/cached-sessions.ts';
import type { ReceivedRequest } from './testing/cache/fake-model-server.ts';
import { sessionPlans } from './testing/cache/session-plans.ts';

const apiKey = 'k';
const claude = ['claude-opus-4-8', 'claude-opus-4-6', 'claude-sonnet-5'] as const;
const gpt = ['gpt-5.1', 'gpt-5-mini', 'gpt-4.1'] as const;

const wires: readonly CachedWire[] = [
  {
    ...{ name: 'anthropic', wire: 'anthropic', models: claude },
    provider: (options) => anthropic({ apiKey, ...options }),
  },
  {
    ...{ name: 'openai-chat', wire: 'openai-chat', models: gpt },
    provider: (options) => openaiChat({ apiKey, ...options }),
  },
  {
    ...{ name: 'claude by openrouter', wire: 'openai-chat' },
    models: ['anthropic/claude-opus-5', 'anthropic/claude-haiku-4.5', 'anthropic/claude-sonnet-5'],
    provider: (options) => openaiChat({ apiKey, preset: 'openrouter', ...options }),
  },
  {
    ...{ name: 'deepseek', wire: 'openai-chat' },
    models: ['deepseek-v4', 'deepseek-chat', 'deepseek-reasoner'],
    provider: (options) => openaiChat({ apiKey, preset: 'deepseek', ...options }),
  },
  {
    ...{ name: 'mistral', wire: 'openai-chat' },
    models: ['mistral-large', 'mistral-small', 'magistral-medium'],
    provider: (options) => openaiChat({ apiKey, preset: 'mistral', ...options }),
  },
  {
    ...{ name: 'openai-responses', wire: 'openai-responses', models: gpt },
    provider: (options) => openaiResponses({ apiKey, ...options }),
  },
  {
    ...{ name: 'gemini', wire: 'gemini' },
    models: ['gemini-3-pro', 'gemini-3-flash', 'gemini-2.5-pro'],
    provider: (options) => gemini({ apiKey, ...options }),
  },
];

/** Requests of one model, and what may have changed between them. */
function faultsIn(
  { wire }: CachedWire,
  sent: readonly ReceivedRequest[],
  records: readonly LogRecord[],
): readonly string[] {
  const requests = sent.filter(({ isSummary }) => !isSummary);
  return requests.flatMap((later, index) => {
    const at = requests.slice(0, index).findLastIndex(({ model }) => model === later.model);
    // The first request is compared with itself, so that its marks are checked.
    const earlier = requests[at] ?? later;
    const [from, to] = [earlier, later].map(({ body }) => cachedRequest(wire, body));
    if (from === undefined || to === undefined) return [];
    const isRewritten = isRewrittenBetween(records, earlier, later);
    const isSameKey = earlier.session === later.session;
    const compared = isSameKey ? to : { ...to, key: from.key };
    const faults = cacheFaults(from, compared, { isRewritten, isNext: at === index - 1 });
    return faults.map((fault) => `${later.model}, request ${index}: ${fault}`);
  });
}

/** True if the conversation was compacted in between, or if its reasoning was rejected. */
function isRewrittenBetween(
  records: readonly LogRecord[],
  earlier: ReceivedRequest,
  later: ReceivedRequest,
): boolean {
  return records.some(({ offset, fact }) => {
    if (offset <= earlier.through || offset > later.through) return false;
    const isRejection = fact?.type === 'attempt_superseded' && fact.reason === 'history_rejected';
    return fact?.type === 'compacted' || isRejection;
  });
}

test('19 cache: the schema in words stays where it is if instructions are all there is', async () => {
  const deepseek = wires.find(({ name }) => name === 'deepseek');
  if (deepseek === undefined) throw new Error('no such wire');
  const response = { reasoning: '', text: '', calls: [], fault: 'none' } as const;
  const { requests, records } = await runSession(deepseek, {
    hasOutput: true,
    steps: [{ do: 'run', input: 'instruction', responses: [response], events: [] }],
  });
  expect(requests.length).toBeGreaterThan(1);
  expect(faultsIn(deepseek, requests, records)).toEqual([]);
});

describe('the cache law: what a request has stored is a prefix of the next one, which finds it:', () => {
  test.each(wires)('$name', async (wire) => {
    await fc.assert(
      fc.asyncProperty(sessionPlans, async (plan) => {
        const { requests, records } = await runSession(wire, plan);
        expect(faultsIn(wire, requests, records)).toEqual([]);
      }),
      { numRuns: runs(100) },
    );
  });
});
