import { expect, test } from 'vitest';
import { alternativesOf, groundingOf, logprobsOf } from './answer-metadata.ts';
import type { Part } from './part.ts';

const text = (metadata: Part['metadata']): Part =>
  metadata === undefined
    ? { kind: 'text', text: 'Sunny' }
    : { kind: 'text', text: 'Sunny', metadata };

test('log probabilities are read from the metadata of a part, and broken entries are left out', () => {
  const sunny = { token: 'Sunny', logprob: -0.25 };
  const rainy = { token: 'Rainy', logprob: -2 };
  const part = text({
    logprobs: [{ ...sunny, top: [sunny, rainy, 7] }, rainy, { token: 'x' }, null],
  });
  expect(logprobsOf(part)).toEqual([{ ...sunny, top: [sunny, rainy] }, rainy]);
  expect(logprobsOf(text(undefined))).toEqual([]);
  expect(logprobsOf(text({ logprobs: 'none' }))).toEqual([]);
});

test('the grounding of a text has queries, passages with sources, an entry point and pages', () => {
  const grounding = {
    queries: ['weather Paris', 7],
    supports: [{ text: 'Sunny', end: 5, sources: [0, 2, 'x'] }],
    searchEntryPoint: '<div/>',
    urls: [{ url: 'https://example.com', status: 'SUCCESS' }, { status: 'LOST' }],
  };
  const read = {
    queries: ['weather Paris'],
    supports: [{ text: 'Sunny', start: 0, end: 5, sources: [0, 2] }],
    searchEntryPoint: '<div/>',
    urls: [{ url: 'https://example.com', status: 'SUCCESS' }],
  };
  expect(groundingOf(text({ grounding }))).toEqual(read);
  expect(groundingOf({ kind: 'custom', name: 'grounding', value: { grounding } })).toEqual(read);
  expect(groundingOf(text({ grounding: {} }))).toEqual({ queries: [], supports: [], urls: [] });
  expect(groundingOf(text({}))).toBeUndefined();
});

test('the other answers of an item are its parts of that name', () => {
  const value = {
    index: 1,
    text: 'Rainy',
    reasoning: 'Clouds.',
    calls: [{ name: 'weather', arguments: '{}' }],
    stop: 'stop',
  };
  const parts: readonly Part[] = [
    text(undefined),
    { kind: 'custom', name: 'alternative', value },
    { kind: 'custom', name: 'alternative', value: { index: 2 } },
    { kind: 'custom', name: 'alternative', value: 'broken' },
    { kind: 'custom', name: 'other', value },
  ];
  const { calls: toolCalls, ...rest } = value;
  expect(alternativesOf({ parts })).toEqual([
    { ...rest, toolCalls },
    { index: 2, text: '', reasoning: '', toolCalls: [] },
  ]);
});
