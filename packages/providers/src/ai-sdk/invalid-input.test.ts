import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { JsonObject } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../contract/model-request.ts';
import { type AiSdkOptions, fromAiSdk } from './index.ts';

const answer = [
  {
    type: 'finish',
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    finishReason: { unified: 'stop', raw: 'stop' },
  },
];

/** Sends a request and returns its result, with the options that the model was called with. */
async function sendRequest(request: unknown, options?: AiSdkOptions) {
  const calls: LanguageModelV4CallOptions[] = [];
  const model = {
    specificationVersion: 'v4',
    provider: 'maker',
    modelId: 'm-1',
    doStream: async (call: LanguageModelV4CallOptions) => {
      calls.push(call);
      return { stream: ReadableStream.from(answer) };
    },
  } as unknown as LanguageModelV4;
  const { error } = await fromAiSdk(model, options).complete(request as ModelRequest);
  return { error, calls };
}

const cyclic: Record<string, unknown> = { type: 'object' };
cyclic['self'] = cyclic;
const odd = { kind: 'image_url', text: 'x' };
const toolOf = (inputSchema: unknown) => ({ items: [], tools: [{ name: 'read', inputSchema }] });

describe('an invalid request', () => {
  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a text', 'hi'],
    ['without items', {}],
    ['with items that are no list', { items: {} }],
    ['with an item that is none', { items: [null] }],
    ['with an item of no known kind', { items: [{ id: 'i', kind: 'function', parts: [] }] }],
    ['with a part of no known kind', { items: [{ id: 'i', kind: 'user', parts: [odd] }] }],
    ['with a tool that is none', { items: [], tools: [null] }],
    ['with a schema that goes in a circle', toolOf(cyclic)],
    ['with a schema that has a BigInt', toolOf({ maximum: 1n })],
    ['with an option that goes in a circle', { items: [], providerOptions: { maker: cyclic } }],
    ['with an option that is a BigInt', { items: [], providerOptions: { maker: { big: 1n } } }],
  ])('%s, is reported as invalid and never sent', async (_, request) => {
    const { error, calls } = await sendRequest(request);
    expect(error).toMatchObject({ kind: 'invalid_request', retry: 'no' });
    expect(error?.message).not.toContain('base URL');
    expect(calls).toEqual([]);
  });

  test('with a circular provider tool is reported as invalid', async () => {
    const args = cyclic as Record<string, string>;
    const providerTools = [{ id: 'maker.search' as const, name: 'search', args }];
    const { error, calls } = await sendRequest({ items: [] }, { providerTools });
    expect(error?.kind).toBe('invalid_request');
    expect(calls).toEqual([]);
  });

  test('with a header that fetch rejects is reported as invalid', async () => {
    const model = {
      specificationVersion: 'v4',
      provider: 'maker',
      modelId: 'm-1',
      doStream: async () => new Headers({ 'bad name': 'x' }),
    } as unknown as LanguageModelV4;
    const { error } = await fromAiSdk(model).complete({ items: [] });
    expect(error).toMatchObject({ kind: 'invalid_request', retry: 'no' });
  });
});

test('a header that is undefined is not sent', async () => {
  const headers = { authorization: undefined, 'x-team': 'blue' };
  const { error, calls } = await sendRequest({ items: [] }, { headers });
  expect(error).toBeUndefined();
  expect(calls[0]?.headers).toEqual({ 'x-team': 'blue' });
});

test('a header that is not a string is reported as invalid', async () => {
  const headers = { 'x-count': 5 } as unknown as JsonObject as Record<string, string>;
  const { error } = await sendRequest({ items: [] }, { headers });
  expect(error?.kind).toBe('invalid_request');
  expect(error?.message).toContain('x-count');
});

test('a key that is passed in secrets is removed from errors', async () => {
  const key = 'correct horse battery';
  const model = {
    specificationVersion: 'v4',
    provider: 'maker',
    modelId: 'm-1',
    doStream: () => Promise.reject(new Error(`no such key: ${key}`, { cause: new Error(key) })),
  } as unknown as LanguageModelV4;
  const { error } = await fromAiSdk(model, { secrets: [undefined, key] }).complete({ items: [] });
  expect(error?.message).toContain('[redacted]');
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    expect(`${one.message}${one.stack}`).not.toContain(key);
  }
});
