import { countingIds, type Item, itemId, type JsonObject, type Usage } from '@millrace/core';
import { expect, test } from 'vitest';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { gemini } from './provider.ts';

const question: Item = { id: itemId('u1'), kind: 'user', parts: [{ kind: 'text', text: 'When?' }] };

async function usageOf(events: readonly object[]): Promise<Usage> {
  const { fetch } = fetchOf([sseOf(events)]);
  const provider = gemini({ model: 'gemini-3-pro-preview', apiKey: 'k', fetch });
  const { usage } = await provider.complete({ items: [question] }, { ids: countingIds() });
  return usage;
}

const says = (usageMetadata?: JsonObject): JsonObject => ({
  candidates: [{ content: { parts: [{ text: 'x' }] } }],
  ...(usageMetadata && { usageMetadata }),
});
const ends = (usageMetadata?: JsonObject): JsonObject => ({
  candidates: [{ finishReason: 'STOP' }],
  ...(usageMetadata && { usageMetadata }),
});

test('the prompt includes what was cached, and thoughts come on top of the answer', async () => {
  const usage = await usageOf([
    ends({
      promptTokenCount: 26,
      cachedContentTokenCount: 16,
      candidatesTokenCount: 2,
      thoughtsTokenCount: 30,
      totalTokenCount: 58,
    }),
  ]);
  expect(usage).toEqual({
    input: 26,
    output: 32,
    cacheRead: 16,
    cacheWrite: 0,
    reasoning: 30,
    estimated: false,
    costs: [],
  });
});

test('trap: repeated and sometimes only a traffic type: merged, never replaced', async () => {
  const usage = await usageOf([
    says({ promptTokenCount: 26, candidatesTokenCount: 1, cachedContentTokenCount: 16 }),
    says({ trafficType: 'ON_DEMAND' }),
    ends({ promptTokenCount: 26, candidatesTokenCount: 5, thoughtsTokenCount: 3 }),
    { usageMetadata: { trafficType: 'ON_DEMAND' } },
  ]);
  expect(usage).toMatchObject({ input: 26, output: 8, cacheRead: 16, estimated: false });
});

test('a figure that falls is the later one', async () => {
  const usage = await usageOf([
    says({ candidatesTokenCount: 1219, thoughtsTokenCount: 244 }),
    ends({ candidatesTokenCount: 1219, thoughtsTokenCount: 167 }),
  ]);
  expect(usage).toMatchObject({ output: 1386, reasoning: 167 });
});

test('what hosted tools read is input beside the prompt', async () => {
  const usage = await usageOf([
    ends({ promptTokenCount: 55, toolUsePromptTokenCount: 89, candidatesTokenCount: 51 }),
  ]);
  expect(usage).toMatchObject({ input: 144, output: 51 });
});

test('figures that came only before the end are an estimate, and so are those of a cut stream', async () => {
  const early = says({ promptTokenCount: 26, candidatesTokenCount: 1 });
  expect(await usageOf([early, ends()])).toMatchObject({ input: 26, output: 1, estimated: true });
  expect(await usageOf([early])).toMatchObject({ input: 26, output: 1, estimated: true });
});

test('a traffic type alone is no usage: it is estimated', async () => {
  const usage = await usageOf([says(), ends({ trafficType: 'ON_DEMAND' })]);
  expect(usage.estimated).toBe(true);
  expect(usage.input).toBeGreaterThan(0);
});

test('figures that are no counts are ignored', async () => {
  const usage = await usageOf([
    says({ promptTokenCount: 26 }),
    ends({ promptTokenCount: null, candidatesTokenCount: 'many', thoughtsTokenCount: -1 }),
  ]);
  expect(usage).toMatchObject({ input: 26, reasoning: 0 });
});
