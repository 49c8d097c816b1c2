import { describe, expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { ModelPrices } from '../contract/model-info.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { rowsFromLiteLlm } from './from-litellm.ts';
import { createModelTable } from './model-table.ts';
import { joinTables, models } from './shipped-models.ts';
import { ModelTableError, readModelTable, writeModelTable } from './table-file.ts';

const tokens = (contextTokens: number) => ({ contextTokens });

describe('a table finds a model', () => {
  const table = createModelTable({
    'anthropic/claude-opus-4-8': tokens(1),
    'anthropic/claude-*': tokens(2),
    'anthropic/claude-3-*': tokens(3),
    'openai/gpt-5.1': { ...tokens(4), prices: { input: '1', output: '2' } },
    'openai/gpt-5.1-2025-11-13': tokens(5),
    'openai/ft:gpt-4o': tokens(6),
    'gemini/gemini-3-flash': tokens(7),
    'groq/openai/gpt-oss-120b': tokens(8),
    'My-Model': tokens(9),
    'ollama/qwen3*': tokens(10),
  });

  test.each([
    ['anthropic', 'claude-opus-4-8', 1],
    ['anthropic', 'claude-opus-4-8-20260528', 1],
    ['anthropic', 'claude-opus-4-8@20260528', 1],
    ['vertex', 'claude-opus-4-8@default', 1],
    ['openrouter', 'anthropic/claude-opus-4.8:beta', 1],
    ['amazon-bedrock', 'us.anthropic.claude-opus-4-8-20260528-v1:0', 1],
    ['anthropic.messages', 'claude-opus-4-8', 1],
    ['anthropic-bedrock', 'us.anthropic.claude-opus-4-8-20260528-v1:0', 1],
    ['anthropic-vertex', 'claude-opus-4-8@20260528', 1],
    ['anthropic@127.0.0.1:8080', 'claude-opus-4-8', 1],
    ['anthropic', 'claude-9', 2],
    ['anthropic', 'claude-3-haiku-20240307', 3],
    ['openai', 'gpt-5.1', 4],
    ['openai-responses', 'gpt-5.1', 4],
    ['azure-responses', 'gpt-5.1', 4],
    ['openai', 'gpt-5.1-2025-11-13', 5],
    ['openai', 'gpt-5.1-2026-01-01', 4],
    ['openai', 'ft:gpt-4o:acme::id', 6],
    ['vertex', 'publishers/google/models/gemini-3-flash', 7],
    ['gemini', 'models/gemini-3-flash', 7],
    ['google.generative-ai', 'gemini-3-flash', 7],
    ['groq', 'openai/gpt-oss-120b', 8],
    ['openai-compatible@a.example', 'my-model', 9],
    ['ollama', 'my-model', 9],
    ['ollama', 'qwen3:8b', 10],
    ['ollama', 'gpt-5.1', undefined],
    ['openai', 'gpt-4o', undefined],
    ['groq', 'gpt-oss-20b', undefined],
  ])('of %s: %s', (provider, model, expected) => {
    expect(table.find(provider, model)?.contextTokens).toBe(expected);
  });

  test.each([
    ['openai', true],
    ['azure', true],
    ['openai-compatible@api.openai.com', true],
    ['litellm', true],
    ['openrouter', false],
    ['openai@proxy.example', false],
    ['openai-compatible@proxy.example', false],
  ])('of %s with the vendor’s prices: %s', (provider, hasPrices) => {
    const info = table.find(provider, 'gpt-5.1');
    expect(info?.contextTokens).toBe(4);
    expect(info?.prices !== undefined).toBe(hasPrices);
  });

  test('in several tables: the first one that has a field wins', () => {
    const joined = joinTables(
      createModelTable({ 'gpt-5.1': { contextTokens: undefined, maxOutputTokens: 5 } }),
      undefined,
      table,
    );
    expect(joined.find('openai', 'gpt-5.1')).toMatchObject({
      contextTokens: 4,
      maxOutputTokens: 5,
    });
    expect(joined.find('openai', 'nothing')).toBeUndefined();
  });
});

describe('the table of the package', () => {
  test.each([
    ['anthropic', 'claude-sonnet-5-5'],
    ['openai', 'gpt-5.5'],
    ['gemini', 'gemini-flash-latest'],
    ['mistral', 'mistral-medium-latest'],
    ['deepseek', 'deepseek-v4-flash'],
    ['xai', 'grok-4.5'],
    ['groq', 'openai/gpt-oss-120b'],
    ['together', 'openai/gpt-oss-120b'],
  ])('has limits and prices of %s: %s', (provider, model) => {
    expect(models.find(provider, model)).toMatchObject({
      contextTokens: expect.any(Number),
      prices: { input: expect.any(String), output: expect.any(String) },
    });
  });

  test('gives answers their cost, unless the server reports one', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 100 };
    const answer = (more: object) => {
      const { fetch } = fetchOf([
        sseOf([
          {
            choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
            usage: { ...usage, ...more },
          },
        ]),
      ]);
      return { apiKey: 'key', fetch, models };
    };
    const items = [] as const;
    const own = openaiChat({ ...answer({}), model: 'gpt-5.1' });
    expect(own.info?.prices).toMatchObject({ input: '1.25' });
    const cost = { amount: '0.00225', currency: 'USD' };
    expect((await own.complete({ items })).usage.costs).toEqual([cost]);
    const model = 'openai/gpt-5.1';
    const routed = openaiChat({ ...answer({ cost: 0.5 }), preset: 'openrouter', model });
    expect(routed.info?.prices).toBe('reported');
    expect((await routed.complete({ items })).usage.costs).toEqual([
      { amount: '0.5', currency: 'USD' },
    ]);
    const unpriced = openaiChat({ ...answer({}), models: undefined, model: 'gpt-5.1' });
    expect((await unpriced.complete({ items })).usage.costs).toEqual([]);
  });

  test('has no prices for a vendor’s API at another address', () => {
    const baseUrl = 'https://proxy.example';
    const model = 'claude-opus-4-8';
    expect(anthropic({ model, models, baseUrl }).info).toMatchObject({ contextTokens: 1_000_000 });
    expect(anthropic({ model, models, baseUrl }).info?.prices).toBeUndefined();
    const preset = 'openai';
    expect(openaiChat({ model: 'gpt-5.1', models, baseUrl, preset }).info?.prices).toBeUndefined();
  });
});

// Regression: such a price was accepted, and the first answer threw instead of ending.
test.each<[string, object]>([
  ['input', { input: 2, output: '3' }],
  ['output', { input: '2' }],
  ['cacheRead', { input: '2', output: '3', cacheRead: '$1' }],
  [
    'reasoning',
    { input: '2', output: '3', above: [{ inputTokens: 1, input: '2', output: '3', reasoning: 4 }] },
  ],
])('a provider refuses an %s price that is not a decimal', (name, prices) => {
  const info = { prices: prices as unknown as ModelPrices };
  const made = () => anthropic({ model: 'claude-opus-4-8', apiKey: 'none', info });
  expect(made).toThrow(new RegExp(`the ${name} price .* of claude-opus-4-8: use a decimal`));
});

describe('the list of LiteLLM', () => {
  const row = {
    ...{ litellm_provider: 'openai', mode: 'chat', max_input_tokens: 100, max_output_tokens: 10 },
    ...{ input_cost_per_token: 1.25e-6, output_cost_per_token: 3.0000000000000004e-5 },
  };

  test('becomes rows with exact prices for a million tokens', () => {
    const tier = { input_cost_per_token_above_200k_tokens: 2.5e-6 };
    const hour = { cache_creation_input_token_cost_above_1hr: 1e-8 };
    const rows = rowsFromLiteLlm({ 'gpt-x': { ...row, ...tier, ...hour } });
    expect(rows['openai/gpt-x']).toMatchObject({
      contextTokens: 100,
      maxOutputTokens: 10,
      prices: {
        ...{ input: '1.25', output: '30', cacheWriteLong: '0.01' },
        above: [{ inputTokens: 200_000, input: '2.5', output: '30', cacheWriteLong: '0.01' }],
      },
    });
  });

  test('has efforts and inputs by its flags', () => {
    const flags = {
      ...{ supports_reasoning: true, supports_vision: true, supports_audio_input: true },
      ...{ supports_xhigh_reasoning_effort: true, supports_low_reasoning_effort: false },
    };
    expect(rowsFromLiteLlm({ 'gpt-x': { ...row, ...flags } })['openai/gpt-x']).toMatchObject({
      reasons: true,
      efforts: ['medium', 'high', 'xhigh'],
      inputs: ['image', 'audio'],
      sampling: 'never',
    });
  });

  test('keeps a date only where the model differs by it', () => {
    const dear = { ...row, input_cost_per_token: 1 };
    const names = Object.keys(
      rowsFromLiteLlm({
        ...{ 'a-2025-01-01': row, 'a-2025-06-01': dear, a: dear, 'b-2025-01-01': row },
      }),
    ).filter((name) => /^openai\/[ab]/.test(name));
    expect(names).toEqual(['openai/a', 'openai/a-2025-01-01', 'openai/b']);
  });

  test('leaves out other kinds of models and other vendors', () => {
    const other = { ...row, litellm_provider: 'elsewhere' };
    const rows = rowsFromLiteLlm({ a: row, b: { ...row, mode: 'embedding' }, c: other, d: 7 });
    expect(Object.keys(rows).filter((name) => /\/[a-d]$/.test(name))).toEqual(['openai/a']);
  });
});

describe('a file with models', () => {
  const rows = {
    'vllm/a': { contextTokens: 9, prices: { input: '0.1', output: '2' } },
    'b*': { efforts: ['low'], inputs: [], prices: 'reported' },
  } as const;

  test('is read as it was written', () => {
    expect(readModelTable(writeModelTable(rows))).toEqual(rows);
  });

  test('can be the list of LiteLLM', () => {
    const row = { litellm_provider: 'xai', mode: 'chat', max_input_tokens: 5 };
    expect(readModelTable(JSON.stringify({ 'xai/grok-9': row }))['xai/grok-9']).toEqual({
      contextTokens: 5,
    });
  });

  test.each<[string, string | object, string]>([
    ['text', 'contextTokens', 'not JSON'],
    ['a list', [], 'no JSON object'],
    ['nothing known', { a: 1 }, 'no row has a model'],
    ['another format', { format: 'x', models: {} }, 'format "x"'],
    ['no models', { format: 'millrace-models-1' }, '"models"'],
    ['an unknown field', file({ contexTokens: 5 }), 'contexTokens'],
    ['a negative size', file({ contextTokens: -5 }), 'contextTokens -5'],
    ['a number as price', file({ prices: { input: 0.1, output: '2' } }), 'prices'],
    ['a missing price', file({ prices: { input: '1' } }), 'prices'],
    ['a negative price', file({ prices: { input: '-1', output: '2' } }), 'prices'],
    ['an unknown price', file({ prices: { input: '1', output: '2', extra: '3' } }), 'prices'],
    ['an unknown effort', file({ efforts: ['most'] }), 'efforts'],
  ])('is refused with %s, and the error names it', (_, content, named) => {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    expect(() => readModelTable(text)).toThrow(ModelTableError);
    expect(() => readModelTable(text)).toThrow(named);
  });

  function file(info: object): object {
    return { format: 'millrace-models-1', models: { 'my-model': info } };
  }
});
