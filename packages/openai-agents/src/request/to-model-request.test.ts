import { type JsonValue, type Part, toolCallId } from '@millrace/core';
import {
  type Agent,
  type AgentInputItem,
  type JsonSchemaDefinition,
  type ModelRequest,
  RunState,
  UserError,
} from '@openai/agents';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { millraceModels } from '../model/millrace-model.ts';
import { toOutputItems } from '../response/to-response.ts';
import { call, miller, response, runnerOf, scriptedModel } from '../testing/mill.ts';
import { modelRequest } from '../testing/model-request.ts';
import { toInputItems, toItems } from './convert-items.ts';
import { toModelRequest } from './to-model-request.ts';

type JsonObjectSchema = JsonSchemaDefinition['schema'];

describe('the request of a runner', () => {
  test('has instructions, tools and hand-offs', async () => {
    const provider = scriptedModel(['Hello']);
    await runnerOf(millraceModels({ provider })).run(miller, 'Bread?');
    const { items, tools, ...rest } = provider.requests[0]?.request ?? { items: [] };
    expect(items).toEqual([
      { id: 'item1', kind: 'system', parts: [{ kind: 'text', text: 'You report the weather.' }] },
      { id: 'item2', kind: 'user', parts: [{ kind: 'text', text: 'Bread?' }] },
    ]);
    expect(tools?.map(({ name, strict }) => [name, strict])).toEqual([
      ...[
        ['weather', true],
        ['transfer_to_Baker', true],
      ],
    ]);
    expect(tools?.[0]?.inputSchema).toMatchObject({ properties: { town: { type: 'string' } } });
    // The caller did not choose the SDK's default for OpenAI's default model.
    expect(Object.values(rest).filter((value) => value !== undefined)).toEqual([]);
  });

  test('has the common settings, and the others unchanged', () => {
    const { items, ...request } = toModelRequest(
      modelRequest({
        modelSettings: {
          ...{ temperature: 0.5, topP: 0.9, maxTokens: 100, reasoning: { effort: 'xhigh' } },
          providerData: { service_tier: 'flex' },
        },
        outputType: { type: 'json_schema', name: 'out', strict: true, schema: looseSchema },
      }),
      'test',
    );
    expect(request).toEqual({
      ...{ temperature: 0.5, topP: 0.9, maxOutputTokens: 100, reasoning: 'max' },
      providerOptions: { test: { service_tier: 'flex' } },
      output: { name: 'out', strict: true, schema: looseSchema },
    });
    expect(items).toHaveLength(1);
  });

  test.each(['auto', 'none', 'required'])('may choose tools: %s', (toolChoice) => {
    const asked = modelRequest({ tools: [weather], modelSettings: { toolChoice } });
    expect(toModelRequest(asked, 'test').toolChoice).toBe(toolChoice);
  });

  test('may choose a tool by name', () => {
    const asked = modelRequest({ tools: [weather], modelSettings: { toolChoice: 'weather' } });
    expect(toModelRequest(asked, 'test').toolChoice).toEqual({ name: 'weather' });
  });

  test.each([
    ['a conversation of OpenAI', { conversationId: 'c' }, 'whole history'],
    ['a response of OpenAI', { previousResponseId: 'r' }, 'whole history'],
    ['a prompt of OpenAI', { prompt: { promptId: 'p' } }, 'template p'],
    [
      'a hosted tool',
      { tools: [{ type: 'hosted_tool', name: 'web_search' } as const] },
      'web_search',
    ],
    [
      'an uploaded file',
      { input: [user({ type: 'input_image', image: { id: 'f' } })] },
      'its data',
    ],
    ['an invalid image', { input: [user({ type: 'input_image', image: '!' })] }, 'not a data URL'],
  ])('is rejected if it has %s', (_name, given, why) => {
    expect(() => toModelRequest(modelRequest(given), 'test')).toThrow(UserError);
    expect(() => toModelRequest(modelRequest(given), 'test')).toThrow(why);
  });
});

const looseSchema: JsonObjectSchema = {
  ...{ properties: {}, required: [] },
  ...({ type: 'object', additionalProperties: false } as const),
};
const weather: ModelRequest['tools'][number] = {
  ...{ name: 'weather', description: '', strict: true, parameters: looseSchema },
  type: 'function',
};

function user(...content: Exclude<Extract<AgentInputItem, { role: 'user' }>['content'], string>) {
  return { role: 'user', content } as const;
}

test('images, files and audio are converted to media and file parts', () => {
  const png = `data:image/png;base64,${btoa('png')}`;
  const { items } = toItems([
    user(
      { type: 'input_text', text: 'Look' },
      { type: 'input_image', image: png },
      { type: 'input_image', image: 'https://shop.example/photo.png' },
      { type: 'input_file', file: btoa('pdf'), filename: 'plan.pdf' },
      { type: 'audio', audio: btoa('mp3'), format: 'mp3' },
    ),
  ]);
  const bytes = (text: string) => ({ type: 'bytes', bytes: new TextEncoder().encode(text) });
  expect(items[0]?.parts).toEqual([
    { kind: 'text', text: 'Look' },
    { kind: 'media', mimeType: 'image/png', source: bytes('png') },
    {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'url', url: 'https://shop.example/photo.png' },
    },
    { kind: 'file', name: 'plan.pdf', mimeType: 'application/pdf', source: bytes('pdf') },
    { kind: 'media', mimeType: 'audio/mp3', source: bytes('mp3') },
  ]);
  const again = toItems(toInputItems(items.slice(0, 1))).items;
  expect(again[0]?.parts.slice(0, 4)).toEqual(items[0]?.parts.slice(0, 4));
});

test('results are converted with their attachments', () => {
  const head = { type: 'function_call_result', name: 'look', status: 'completed' } as const;
  const { items } = toItems([
    { ...head, callId: 'a', output: 'plain' },
    { ...head, callId: 'b', output: { type: 'text', text: 'older' } },
    {
      ...head,
      callId: 'c',
      output: [
        { type: 'input_text', text: 'see' },
        { type: 'input_image', image: 'https://shop.example/a.png' },
      ],
    },
    {
      ...head,
      callId: 'd',
      output: { type: 'image', image: { data: new Uint8Array([1]), mediaType: 'image/gif' } },
    },
  ]);
  expect(items[0]?.kind).toBe('tool');
  expect(items[0]?.parts).toMatchObject([
    { toolCallId: 'a', text: 'plain' },
    { toolCallId: 'b', text: 'older' },
    { toolCallId: 'c', text: 'see', attachments: [{ kind: 'media', source: { type: 'url' } }] },
    {
      toolCallId: 'd',
      text: '',
      attachments: [{ mimeType: 'image/gif', source: { type: 'bytes' } }],
    },
  ]);
});

test('a cache breakpoint is set in the request', () => {
  const promptCacheBreakpoint = { mode: 'explicit' } as const;
  const input = [user({ type: 'input_text', text: 'Long', promptCacheBreakpoint }), user()];
  expect(toModelRequest(modelRequest({ input }), 'test').cache?.upTo).toEqual(['item1']);
});

describe('the answer of a model', () => {
  const state = { provider: 'scripted', model: 'script', data: { encrypted: 'x', ids: [1] } };
  const reasoning: Part = {
    ...{ kind: 'reasoning', form: 'summary', text: 'Is it wet?', signature: 'signed' },
    providerState: state,
  };
  const parts: readonly Part[] = [
    reasoning,
    { kind: 'custom', name: 'search', value: { hits: 2 }, providerState: state },
    { kind: 'text', text: 'Let me look. ', metadata: { citations: [] }, providerState: state },
    {
      ...(call('c1', 'weather', { town: 'Bath' }) as Part & { kind: 'tool_call' }),
      providerState: state,
    },
  ];

  test('is in the next request unchanged, including signatures', async () => {
    const provider = scriptedModel([response(...parts), 'Rain.', 'Still rain.']);
    const runner = runnerOf(millraceModels({ provider }));
    const first = await runner.run(miller, 'Bread?');
    expect(provider.requests[1]?.request.items[2]?.parts).toEqual(parts);
    // The same for a history that was stored.
    const stored = JSON.parse(JSON.stringify(first.history)) as AgentInputItem[];
    await runner.run(miller, [...stored, { role: 'user', content: 'Now?' }]);
    expect(provider.requests[2]?.request.items[2]?.parts).toEqual(parts);
  });

  test('survives a run state that was stored and loaded', async () => {
    const provider = scriptedModel([response(...parts), 'Rain.']);
    const runner = runnerOf(millraceModels({ provider }));
    const { state: done } = await runner.run(miller, 'Bread?');
    const again = await RunState.fromString(miller as Agent<unknown, 'text'>, done.toString());
    const { items } = toItems(again.history);
    expect(items[1]?.parts).toEqual(parts);
  });

  test('is dropped if it is private to another vendor', () => {
    const { items } = toItems([
      { type: 'reasoning', id: 'rs', content: [], providerData: { encryptedContent: 'x' } },
      { type: 'hosted_tool_call', name: 'web_search_call' },
      { role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Hi' }] },
    ]);
    expect(items.map(({ parts }) => parts)).toEqual([[{ kind: 'text', text: 'Hi' }]]);
  });

  /** A value after a JSON round trip, because JSON has no -0. */
  const json = fc
    .jsonValue({ maxDepth: 2 })
    .map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);
  const kept = fc.record(
    {
      metadata: fc.dictionary(fc.string({ maxLength: 4 }), json, { maxKeys: 2 }),
      providerState: fc.record({ provider: fc.string(), model: fc.string(), data: json }),
      partial: fc.constant(true as const),
    },
    { requiredKeys: [] },
  );
  const bodies = fc.oneof(
    fc.record({ kind: fc.constant('text' as const), text: fc.string({ minLength: 1 }) }),
    fc.record({
      ...{ kind: fc.constant('reasoning' as const), text: fc.string() },
      form: fc.constantFrom('full' as const, 'summary' as const),
    }),
    fc.record({
      ...{ kind: fc.constant('tool_call' as const), name: fc.string({ minLength: 1 }) },
      toolCallId: fc.integer({ min: 1 }).map((n) => toolCallId(`call ${n}`)),
      arguments: fc.string(),
    }),
    fc.record({ kind: fc.constant('structured' as const), value: json, name: fc.string() }),
    fc.record({ kind: fc.constant('custom' as const), value: json, name: fc.string() }),
    fc.record({
      ...{ kind: fc.constant('media' as const), mimeType: fc.constant('image/png') },
      source: fc.record({ type: fc.constant('bytes' as const), bytes: fc.uint8Array() }),
    }),
  );

  test('has the same parts after conversion to SDK items and back', () => {
    const parts = fc.array(
      fc.tuple(bodies, kept).map(([body, rest]): Part => ({ ...body, ...rest })),
      { minLength: 1, maxLength: 5 },
    );
    fc.assert(
      fc.property(parts, (given) => {
        const items = toOutputItems(given.map((part, at) => ({ id: `p${at}`, part })));
        const stored = JSON.parse(JSON.stringify(items)) as AgentInputItem[];
        expect(toItems(stored).items.flatMap((item) => item.parts)).toEqual(given);
      }),
      { numRuns: runs(300) },
    );
  });
});
