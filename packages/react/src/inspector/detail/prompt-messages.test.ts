import type { JsonObject } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { cachedMessages, promptChange, promptOf } from './prompt-messages.ts';

const linesOf = (body: JsonObject) =>
  promptOf(body).messages.map(
    ({ role, blocks }) =>
      `${role}: ${blocks.map(({ kind, title, text }) => [kind, title, text].filter(Boolean).join(' ')).join(' | ')}`,
  );

/** The same conversation in the wire format of each provider. */
const bodies: Readonly<Record<string, JsonObject>> = {
  anthropic: {
    system: [{ type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'x' },
          { type: 'tool_use', id: 't1', name: 'weather', input: 'Oslo' },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'Sunny' }] },
    ],
  },
  chat: {
    messages: [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ type: 'function', function: { name: 'weather', arguments: 'Oslo' } }],
      },
      { role: 'tool', tool_call_id: 't1', content: 'Sunny' },
    ],
  },
  responses: {
    instructions: 'Be short.',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
      { type: 'function_call', call_id: 't1', name: 'weather', arguments: 'Oslo' },
      { type: 'function_call_output', call_id: 't1', output: 'Sunny' },
    ],
  },
  gemini: {
    systemInstruction: { parts: [{ text: 'Be short.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'Weather?' }] },
      { role: 'model', parts: [{ functionCall: { name: 'weather', args: 'Oslo' } }] },
      {
        role: 'user',
        parts: [{ functionResponse: { name: 'weather', response: { output: 'Sunny' } } }],
      },
    ],
  },
  millrace: {
    instructions: 'Be short.',
    items: [
      { kind: 'user', parts: [{ kind: 'text', text: 'Weather?' }] },
      {
        kind: 'assistant',
        parts: [{ kind: 'tool_call', name: 'weather', arguments: 'Oslo', toolCallId: 't1' }],
      },
      { kind: 'tool', parts: [{ kind: 'tool_result', name: 'weather', text: 'Sunny' }] },
    ],
  },
};

describe('a request', () => {
  test.each(Object.keys(bodies))('of %s is read as messages', (name) => {
    const lines = linesOf(bodies[name] ?? expect.fail());
    expect(lines[0]).toBe('system: text Be short.');
    expect(lines[1]).toBe('user: text Weather?');
    expect(lines[2]).toMatch(/call weather Oslo$/);
    expect(lines[3]).toMatch(/result .*Sunny/s);
    expect(lines).toHaveLength(4);
  });

  test('has the names of its tools, and its settings', () => {
    const prompt = promptOf({
      ...{ model: 'm', max_tokens: 100, stream: true, temperature: null, messages: [] },
      tools: [{ name: 'a' }, { type: 'function', function: { name: 'b' } }],
    });
    expect(prompt.tools).toEqual(['a', 'b']);
    expect(prompt.settings).toEqual({ model: 'm', max_tokens: '100' });
    const gemini = { tools: [{ functionDeclarations: [{ name: 'c' }, { name: 'd' }] }] };
    expect(promptOf(gemini).tools).toEqual(['c', 'd']);
  });

  test('of an unknown form is shown as JSON, and nothing is thrown', () => {
    expect(
      linesOf({ messages: [{ role: 'user', content: [{ odd: 1 }] }, 'text', 3, null] })[0],
    ).toMatch(/^user: other \{/);
    expect(linesOf({})).toEqual([]);
    expect(linesOf({ input: 'Hello' })).toEqual(['user: text Hello']);
  });

  test('does not show the bytes of media', () => {
    const image = { type: 'image', source: { media_type: 'image/png', data: 'A'.repeat(5000) } };
    const [line = expect.fail()] = linesOf({ messages: [{ role: 'user', content: [image] }] });
    expect(line).toMatch(/^user: media image image\/png, /);
    expect(line.length).toBeLessThan(100);
  });
});

describe('the change since the request before', () => {
  const user = (text: string) => ({ role: 'user', content: text });
  const of = (...texts: readonly string[]) => promptOf({ messages: texts.map(user) });

  test('is what was added after the messages that stayed', () => {
    const { same, added, removed } = promptChange(of('a', 'b'), of('a', 'b', 'c'));
    expect([same, added.length, removed.length]).toEqual([2, 1, 0]);
  });

  test('after a compaction is what was removed, too', () => {
    const { same, added, removed } = promptChange(of('a', 'b', 'c'), of('a', 'summary'));
    expect([same, added.length, removed.length]).toEqual([1, 1, 2]);
  });

  test('ignores marks for the cache, and names settings and tools', () => {
    const marked = (cache: boolean, more: JsonObject) =>
      promptOf({
        messages: [{ role: 'user', content: [{ text: 'a', ...(cache && { cache_control: {} }) }] }],
        ...more,
      });
    const change = promptChange(
      marked(true, { model: 'm' }),
      marked(false, { model: 'n', tools: [{ name: 't' }] }),
    );
    expect(change).toEqual({ same: 1, removed: [], added: [], settings: ['tools', 'model'] });
  });

  test('the cache covers messages from the start', () => {
    const prompt = of('aaaaaaaa', 'bbbbbbbb', 'cccccccc', 'dddddddd');
    expect([0, 0.5, 0.74, 1].map((share) => cachedMessages(prompt, share))).toEqual([0, 2, 3, 4]);
  });
});
