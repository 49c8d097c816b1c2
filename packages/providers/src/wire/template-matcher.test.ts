import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { anthropic } from '../anthropic/provider.ts';
import type { Provider } from '../contract/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { TemplateMatcher } from './template-matcher.ts';

/** Learns a template from one message and returns a function that applies it to others. */
function learnTemplate(data: string, text: string) {
  const lookalikes = new TemplateMatcher();
  const told: string[] = [];
  lookalikes.learn(data, undefined, { text, append: (one) => told.push(one) });
  return { tell: (other: string, event?: string) => lookalikes.apply(other, event), told };
}

test('a message that differs in its text alone is not parsed again', () => {
  const { tell, told } = learnTemplate('{"a":{"text":"Hello"},"n":1}', 'Hello');
  expect(tell('{"a":{"text":" you"},"n":1}')).toBe(true);
  expect(tell('{"a":{"text":"\\"\\n\\u00e9\\ud83d"},"n":1}')).toBe(true);
  expect(tell('{"a":{"text":""},"n":1}')).toBe(true);
  expect(told).toEqual([' you', '"\né\ud83d', '']);
});

test.each([
  ['another field differs', '{"a":{"text":"x"},"n":2}'],
  ['the string ends earlier and something follows', '{"a":{"text":"x","more":"y"},"n":1}'],
  ['the string is not closed where it should be', '{"a":{"text":"x\\"},"n":1}'],
  ['a raw line end is in it', '{"a":{"text":"x\ny"},"n":1}'],
  ['it is shorter than what stands around the text', '{"a":{"text":"},"n":1}'],
])('a message is parsed if %s', (_why, data) => {
  const { tell, told } = learnTemplate('{"a":{"text":"Hello"},"n":1}', 'Hello');
  expect(tell(data)).toBe(false);
  expect(told).toEqual([]);
});

test('an event with another name does not match', () => {
  const { tell } = learnTemplate('{"text":"Hello"}', 'Hello');
  expect(tell('{"text":"x"}', 'other')).toBe(false);
});

test.each([
  ['it stands there twice', '{"text":"a","b":"a"}', 'a'],
  ['it is empty', '{"text":""}', ''],
  ['it is no value of a key', '["a"]', 'a'],
  ['it was written otherwise', '{"text":"\\u0061"}', 'a'],
  ['it was written otherwise, and something else is like it', '{"id":"a","text":"\\u0061"}', 'a'],
  ['a slash was escaped, and another was not', '{"x":"/","text":"\\/"}', '/'],
])('no template is learned if %s', (_why, data, text) => {
  const { tell } = learnTemplate(data, text);
  expect(tell(data)).toBe(false);
});

test('matching is turned off if all messages differ', () => {
  const lookalikes = new TemplateMatcher();
  let count = 0;
  while (lookalikes.wantsMore && count < 1000) {
    const data = `{"n":${count},"text":"a"}`;
    expect(lookalikes.apply(data, undefined)).toBe(false);
    lookalikes.learn(data, undefined, { text: 'a', append: () => {} });
    count++;
  }
  expect(count).toBeLessThan(100);
});

type Said =
  | { readonly to: 'text' | 'reasoning'; readonly text: string }
  | { readonly to: 'call'; readonly index: number; readonly text: string };

const piece = fc.oneof(
  fc.string({ maxLength: 6, unit: 'binary' }),
  fc.constantFrom(
    '',
    '"',
    '\\',
    '{}',
    '","x":"',
    'm',
    'r1',
    '\ud83d',
    '\ude00',
    '\u2028',
    'text',
    '\n',
  ),
);
const said = fc.array(
  fc.oneof(
    fc.record({ to: fc.constantFrom('text', 'reasoning'), text: piece }) as fc.Arbitrary<Said>,
    fc.record({ to: fc.constant('call'), index: fc.nat(2), text: piece }) as fc.Arbitrary<Said>,
  ),
  { maxLength: 25 },
);

/**
 * Sends the same messages twice: unchanged, and each with a unique number, so that no template
 * matches.
 */
async function bothWays(messages: readonly object[], create: (fetcher: typeof fetch) => Provider) {
  const read = async (events: readonly object[]) => {
    const deltas: unknown[] = [];
    const { fetch } = fetchOf([sseOf(events)]);
    const request = { items: [] };
    const { item } = await create(fetch).complete(request, {
      onStep: (step) => deltas.push(...step.deltas.map(({ type }) => type)),
    });
    return { parts: item.parts, deltas };
  };
  return [
    await read(messages),
    await read(messages.map((message, n) => ({ ...message, n }))),
  ] as const;
}

test('Chat Completions: the result is the same as if each message were parsed', async () => {
  const chunk = (delta: object, finish: string | null = null) => ({
    id: 'r1',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const starts = [0, 1, 2].map((index) =>
    chunk({
      tool_calls: [{ index, id: `c${index}`, function: { name: `f${index}`, arguments: '' } }],
    }),
  );
  const deltaOf = (one: Said) =>
    one.to === 'call'
      ? { tool_calls: [{ index: one.index, function: { arguments: one.text } }] }
      : { [one.to === 'text' ? 'content' : 'reasoning_content']: one.text };
  await fc.assert(
    fc.asyncProperty(said, async (pieces) => {
      const messages = [...starts, ...pieces.map((one) => chunk(deltaOf(one))), chunk({}, 'stop')];
      const [alike, apart] = await bothWays(messages, (fetcher) =>
        openaiChat({ model: 'm', apiKey: 'k', fetch: fetcher }),
      );
      expect(alike).toEqual(apart);
    }),
    { numRuns: runs(300) },
  );
});

test('Anthropic Messages: the result is the same as if each message were parsed', async () => {
  const blocks = [
    { type: 'text', text: '' },
    { type: 'thinking', thinking: '' },
    { type: 'tool_use', id: 'c', name: 'f', input: {} },
  ];
  const kinds = {
    text: [0, 'text_delta', 'text'],
    reasoning: [1, 'thinking_delta', 'thinking'],
    call: [2, 'input_json_delta', 'partial_json'],
  } as const;
  await fc.assert(
    fc.asyncProperty(said, async (pieces) => {
      const messages = [
        { type: 'message_start', message: { id: 'r1', model: 'm', content: [] } },
        ...blocks.map((block, index) => ({
          type: 'content_block_start',
          index,
          content_block: block,
        })),
        ...pieces.map(({ to, text }) => {
          const [index, type, field] = kinds[to];
          return { type: 'content_block_delta', index, delta: { type, [field]: text } };
        }),
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' },
      ];
      const [alike, apart] = await bothWays(messages, (fetcher) =>
        anthropic({ model: 'm', apiKey: 'k', fetch: fetcher }),
      );
      expect(alike).toEqual(apart);
    }),
    { numRuns: runs(300) },
  );
});
