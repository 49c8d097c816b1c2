import type { JsonObject } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { cachedRequest, cacheFaults } from './cache-law.ts';

const mark = { cache_control: { type: 'ephemeral' } };
const text = (said: string, more = {}): JsonObject => ({ type: 'text', text: said, ...more });
const turn = (role: string, ...content: readonly JsonObject[]): JsonObject => ({ role, content });
const tool = (name: string, more = {}): JsonObject => ({ name, input_schema: {}, ...more });
const next = { isRewritten: false, isNext: true };

const request = (body: JsonObject) =>
  cachedRequest('anthropic', {
    tools: [tool('a'), tool('b', mark)],
    system: [text('Be brief', mark)],
    ...body,
  });
const first = request({ messages: [turn('user', text('Hi', mark))] });
const answered = (...content: readonly JsonObject[]) => [
  turn('user', text('Hi', mark)),
  turn('assistant', text('Hello')),
  turn('user', ...content),
];

describe('the checker of the cache law', () => {
  test('accepts a request that grows, with a mark at its end', () => {
    const later = request({ messages: answered(text('And?', mark)) });
    expect(cacheFaults(first, later, next)).toEqual([]);
    const moved = request({
      messages: [turn('user', text('Hi')), turn('user', text('And?', mark))],
    });
    expect(cacheFaults(first, moved, next)).toEqual([]);
  });

  test.each<[string, JsonObject, RegExp]>([
    [
      'tools in another order',
      { tools: [tool('b'), tool('a', mark)], messages: answered(text('And?', mark)) },
      /^tools, instructions or settings changed: 0/,
    ],
    [
      'a time in the instructions',
      { system: [text('Be brief. It is noon.', mark)], messages: answered(text('And?', mark)) },
      /^tools, instructions or settings changed: 2/,
    ],
    [
      'a changed message',
      { messages: [turn('user', text('Hi!', mark))] },
      /^the stored prefix changed: 3/,
    ],
    [
      'settings that make the stored conversation useless',
      { messages: answered(text('And?', mark)), tool_choice: { type: 'none' } },
      /^settings changed/,
    ],
    ['an end without a mark', { messages: answered(text('And?')) }, /^no mark covers .*And\?/],
    [
      'a stored prefix that is too far before the mark',
      {
        messages: [
          turn('user', text('Hi')),
          turn('assistant', ...Array.from({ length: 30 }, () => text('Hello'))),
          turn('user', text('And?', mark)),
        ],
      },
      /^no mark of .* finds the prefix of 4 blocks/,
    ],
    [
      'more than four marks',
      { messages: answered(text('1', mark), text('2', mark), text('3', mark)) },
      /^there are 6 marks/,
    ],
    [
      'a mark on thinking',
      { messages: [turn('user', text('Hi')), turn('user', { type: 'thinking', ...mark })] },
      /^a mark is on/,
    ],
  ])('finds %s', (_what, body, fault) => {
    expect(cacheFaults(first, request(body), next)).toContainEqual(expect.stringMatching(fault));
  });

  test('finds a request without marks, and another key', () => {
    const bare = cachedRequest('anthropic', { messages: [turn('user', text('Hi'))] });
    expect(cacheFaults(bare, bare, next)).toContain('nothing is marked');
    const keyed = (key: string) =>
      cachedRequest('openai-responses', { input: [], prompt_cache_key: key });
    expect(cacheFaults(keyed('a'), keyed('b'), next)).toEqual(['the cache key changed']);
  });

  test('lets a rewritten conversation change, but not the tools and instructions', () => {
    const allowed = { isRewritten: true, isNext: true };
    const compacted = { messages: [turn('user', text('Summary', mark))] };
    expect(cacheFaults(first, request(compacted), allowed)).toEqual([]);
    const other = request({ ...compacted, tools: [] });
    expect(cacheFaults(first, other, allowed)).toHaveLength(1);
  });
});
