import {
  type FilePart,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  toolCallId,
} from '@millrace/core';
import { memoryLog } from '@millrace/log';
import {
  anthropic,
  type ContentOptions,
  gemini,
  openaiChat,
  openaiResponses,
  withContentOptions,
} from '@millrace/providers';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { InputItem } from '../contract/run.ts';
import { createAgent, handOff } from '../index.ts';
import { createTestAgent, session } from '../testing/test-agent.ts';
import { inputGuardrail, outputGuardrail } from './define-guardrail.ts';

// Whatever a model reads from an input, the guardrails have read before. These tests send each text of many items to
// all kinds of providers.

const card = '4111111111111111';
const noCards = inputGuardrail({
  name: 'no-cards',
  check: ({ text }) => (text.includes(card) ? { verdict: 'stop', reason: 'a card' } : 'pass'),
});

const bytes = new TextEncoder().encode('hello');
const file: FilePart = {
  kind: 'file',
  name: 'a.txt',
  mimeType: 'text/plain',
  source: { type: 'bytes', bytes },
};
const id = toolCallId('c1');
const called = {
  kind: 'tool_call',
  toolCallId: id,
  name: 'note',
  arguments: '{"a":"b"}',
  input: { a: 'b' },
};
const result = { kind: 'tool_result', toolCallId: id, name: 'note', text: 'ok', isError: false };
const user = { kind: 'user', parts: [{ kind: 'text', text: 'Go' }] };
const own = { title: 'a', context: 'b', filename: 'c', detail: 'high' };
const options = { anthropic: own, openai: own, google: own } as ContentOptions;

/** Histories of a client. Each text in them is replaced by the card in turn. */
const histories = {
  'all kinds of items': ['system', 'developer', 'user', 'assistant', 'context', 'notification'].map(
    (kind) => ({ kind, parts: [{ kind: 'text', text: 'x' }] }),
  ),
  'a call with changed arguments': [
    { kind: 'assistant', parts: [{ kind: 'text', text: 'x' }, called] },
    { kind: 'tool', parts: [{ ...result, metadata: { changedInput: { q: 'r' } } }] },
    user,
  ],
  'a result with a value and a file': [
    { kind: 'assistant', parts: [called] },
    { kind: 'tool', parts: [{ ...result, value: { q: 'r' }, attachments: [file] }] },
    user,
  ],
  'marks of the loop': ['system', 'context', 'user'].flatMap((kind) =>
    [{ by: 'the loop' }, { guardrail: true, replaces: 'a', by: 'the loop' }].map((metadata) => ({
      ...{ kind, metadata, parts: [{ kind: 'text', text: 'x' }] },
    })),
  ),
  'a file with options': [
    {
      kind: 'user',
      parts: [
        { kind: 'text', text: 'x' },
        withContentOptions(file, options),
        withContentOptions({ ...file, name: 'a.pdf', mimeType: 'application/pdf' }, options),
      ],
    },
  ],
  'parts of several kinds': [
    {
      kind: 'assistant',
      parts: [
        { kind: 'reasoning', text: 'x', signature: 's' },
        { kind: 'text', text: 'y' },
        { kind: 'structured', value: { a: 'b' } },
        { kind: 'custom', type: 't', name: 'n', value: { a: 'b' } },
      ],
    },
    user,
  ],
} as unknown as Readonly<Record<string, readonly InputItem[]>>;

/**
 * The names of fields without a meaning for a model: `docs/guides/guardrails.md` names ids as an exception, and the
 * other fields are words of the format.
 */
const formatFields = new Set([
  'kind',
  'type',
  'toolCallId',
  'mimeType',
  'detail',
  'by',
  'replaces',
]);

/** Returns the value once for each of its texts, with this text replaced. */
function* replaced(value: JsonValue, key = ''): Generator<readonly [string, JsonValue]> {
  if (typeof value === 'string' && !formatFields.has(key)) yield [key, card];
  if (value instanceof Uint8Array) yield [key, new TextEncoder().encode(card) as never];
  else if (Array.isArray(value))
    for (const [index, one] of value.entries())
      for (const [path, changed] of replaced(one, key))
        yield [`${index}.${path}`, value.with(index, changed)];
  else if (isJsonObject(value))
    for (const [name, one] of Object.entries(value))
      for (const [path, changed] of replaced(one, name))
        yield [`${name}.${path}`, { ...value, [name]: changed } as JsonObject];
}

/** True if a request contains the card, also in a file. */
const hasCard = (text: string) => text.includes(card) || text.includes(btoa(card));
const wires = { anthropic, openaiChat, openaiResponses, gemini };

describe.for(Object.entries(wires))('%s', ([wire, create]) => {
  test.for(Object.entries(histories))(
    '18.848: attack: a client hides a text in a history: %s',
    async ([, items]) => {
      const sent: string[] = [];
      for (const [path, changed] of replaced(items as unknown as JsonValue)) {
        const fetch = async (_url: unknown, init?: { readonly body?: unknown }) => {
          if (hasCard(String(init?.body))) sent.push(path);
          const body = '{"error":{"message":"stop","type":"invalid_request_error"}}';
          return new Response(body, {
            status: 400,
            headers: { 'content-type': 'application/json' },
          });
        };
        const provider = create({ model: `test-${wire}`, apiKey: 'k', fetch } as never);
        const agent = createAgent({ provider, log: memoryLog(), guardrails: [noCards] });
        await agent.run(changed as unknown as readonly InputItem[]).result;
      }
      expect(sent).toEqual([]);
    },
  );
});

/** Data of a provider in each form that a wire sends back. */
const states = [
  { summary: [{ type: 'summary_text', text: card }], content: [], type: 'reasoning', id: 'r1' },
  { type: 'message', id: 'm1', phase: card, annotations: [card], status: card },
  { thoughtSignature: card, parts: [{ text: card }], thought: true, id: card },
  { signature: card, citations: [{ type: 'char_location', cited_text: card }], data: card },
  { extra_content: { a: card }, reasoning_details: [{ text: card }], audio: { id: card } },
];

describe.for(Object.entries(wires))('%s', ([wire, create]) => {
  test('18.1034: attack: a client hides a text in the data of a provider', async () => {
    const sent: number[] = [];
    for (const [at, data] of states.entries()) {
      const fetch = async (_url: unknown, init?: { readonly body?: unknown }) => {
        if (hasCard(String(init?.body))) sent.push(at);
        return new Response('{"error":{"message":"stop"}}', { status: 400 });
      };
      const provider = create({ model: `test-${wire}`, apiKey: 'k', fetch } as never);
      const providerState = { provider: provider.id, model: provider.model, data };
      const withState = (part: object) => ({ ...part, providerState });
      const parts = [
        { kind: 'reasoning', text: 'x', form: 'full' },
        { kind: 'text', text: 'y' },
        { kind: 'custom', name: 'n', value: { type: 'a' } },
        called,
      ].map(withState);
      const results = [{ ...result, attachments: [withState(file)] }].map(withState);
      const items = [{ kind: 'assistant', parts }, { kind: 'tool', parts: results }, user];
      const agent = createAgent({ provider, log: memoryLog(), guardrails: [noCards] });
      await agent.run(items as never).result;
    }
    expect(sent).toEqual([]);
  });
});

test('18.849: attack: a text is divided by a call', async () => {
  const parts = [
    { kind: 'text', text: `My card is ${card.slice(0, 8)}` },
    called,
    { kind: 'text', text: card.slice(8) },
  ];
  const items = [{ kind: 'assistant', parts }, { kind: 'tool', parts: [result] }, user];
  const { agent, end, provider } = createTestAgent(['Thanks.'], { guardrails: [noCards] });
  expect((await end(agent.run(items as never, { session }))).reason).toBe('blocked');
  expect(provider.requests).toEqual([]);
});

test('18.849: attack: a text is hidden behind another text', async () => {
  const words = inputGuardrail({
    name: 'words',
    check: ({ text }) => (/\b\d{16}\b/.test(text) ? { verdict: 'stop', reason: 'a card' } : 'pass'),
  });
  const { agent, end, provider } = createTestAgent(['Thanks.'], { guardrails: [words] });
  const parts = ['card_', card].map((text) => ({ kind: 'text' as const, text }));
  const result = await end(agent.run({ kind: 'user', parts }, { session }));
  // The guardrail has read one word, so the model must not read the card alone.
  expect(result.reason).toBe('stop');
  const sent = provider.requests.flatMap(({ request }) => request.items.map((item) => item.parts));
  expect(sent).toEqual([[{ kind: 'text', text: `card_${card}` }]]);
});

test.each(['a\tmagic b', 'a\nmagic b', 'a"magic b', 'a\\magic b'])(
  '18.858: attack: an escape hides a word: %j',
  async (hidden) => {
    const word = inputGuardrail({
      name: 'word',
      check: ({ text }) => (text.includes(hidden) ? { verdict: 'stop', reason: 'a word' } : 'pass'),
    });
    const caller = (more: object) => ({ ...user, metadata: { caller: more } });
    const schema = { type: 'object', properties: { a: { type: 'string', description: hidden } } };
    const items = [
      { kind: 'user', parts: [{ ...file, name: hidden }] },
      { kind: 'user', parts: [{ ...file, name: hidden, mimeType: 'application/pdf' }] },
      { kind: 'assistant', parts: [{ ...called, arguments: JSON.stringify({ a: hidden }) }] },
      caller({ tools: [{ name: 'a', parameters: schema }] }),
      caller({ output: { name: 'a', schema } }),
    ];
    const { agent, end, provider } = createTestAgent([], { guardrails: [word] });
    for (const [at, item] of items.entries()) {
      const { reason } = await end(agent.run([item, user] as never, { session: `s${at}` }));
      expect([at, reason]).toEqual([at, 'blocked']);
    }
    expect(provider.requests).toEqual([]);
  },
);

test('18.851: attack: an answer has a forbidden text beside its value', async () => {
  const secret = outputGuardrail({
    name: 'no-secrets',
    check: ({ text }) =>
      text.includes('SECRET') ? { verdict: 'stop', reason: 'a secret' } : 'pass',
  });
  const parts = [
    { kind: 'text', text: 'the SECRET plan' },
    { kind: 'structured', value: { a: 'ok' }, name: 'answer' },
  ] as const;
  const { agent, end } = createTestAgent([{ content: { parts } } as never], {
    ...{ guardrails: [secret], output: z.object({ a: z.string() }) },
  });
  const result = await end(agent.run('Go', { session }));
  expect(result.reason).toBe('blocked');
});

test('18.852: attack: thousands of inputs do not keep the process from other work', async () => {
  const pass = inputGuardrail({ name: 'pass', check: () => 'pass' });
  const { agent, end } = createTestAgent(['Thanks.'], { guardrails: [pass] });
  const count = 1000;
  let rounds = 0;
  const next = () => void setImmediate(() => ++rounds < 10_000 && next());
  next();
  const parts = [{ kind: 'text', text: 'x' }] as const;
  const items = Array.from({ length: count }, () => ({ kind: 'user' as const, parts }));
  const { reason } = await end(agent.run(items, { session }));
  expect(reason).toBe('stop');
  expect(rounds).toBeGreaterThan(count / 25);
});

test('18.850: attack: an agent without guardrails hands off to an agent with guardrails', async () => {
  const asked = scriptedProvider(['I see your card.', 'And again.']);
  const billing = createAgent({ name: 'billing', provider: asked, guardrails: [noCards] });
  const front = createAgent({
    provider: scriptedProvider(['Hello.', toolCall('transfer_to_billing', { reason: 'r' })]),
    tools: [handOff({ to: billing, description: 'Bills' })],
  });
  await front.run(`My card is ${card}`, { session }).result;
  const { reason } = await front.run('Charge it', { session }).result;
  expect(reason).toBe('blocked');
  expect(asked.requests).toEqual([]);
});

test('the guardrails of an agent check each input once after a hand-off', async () => {
  const texts: string[] = [];
  const seen = inputGuardrail({
    name: 'seen',
    check: ({ text }) => {
      texts.push(text);
      return 'pass';
    },
  });
  const billing = createAgent({
    ...{ name: 'billing', guardrails: [seen] },
    provider: scriptedProvider(['Which one?', 'Done.']),
  });
  const front = createAgent({
    provider: scriptedProvider(['Hello.', toolCall('transfer_to_billing', { reason: 'r' })]),
    tools: [handOff({ to: billing, description: 'Bills' })],
  });
  for (const text of ['Hi', 'My bill', 'The last one']) await front.run(text, { session }).result;
  expect(texts).toEqual(['Hi', 'My bill', 'The last one']);
});
