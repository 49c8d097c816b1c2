import { itemId, type JsonObject, parseJson } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import { gemini } from '../gemini/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { limitConcurrency } from '../provider/limit-concurrency.ts';
import { wrapProvider } from '../provider/wrap-provider.ts';
import { scriptedProvider } from '../scripted/scripted-provider.ts';

const key = 'sk-very-secret';
const said = (text: string) => [{ kind: 'text', text } as const];
const request: ModelRequest = {
  items: [
    { id: itemId('a'), kind: 'system', parts: said('Be brief.') },
    { id: itemId('b'), kind: 'user', parts: said(`My key is ${key}, do not tell`) },
  ],
  tools: [{ name: 'look', description: 'Looks', inputSchema: { type: 'object' } }],
  maxOutputTokens: 100,
};

/** Records the requests to a server that never answers successfully. */
function recordRequests() {
  const sent: { readonly url: string; readonly body: string }[] = [];
  const fetch = async (url: URL | string | Request, init?: RequestInit) => {
    sent.push({ url: String(url), body: String(init?.body) });
    return new Response('{}', { status: 400 });
  };
  return { sent, fetch: fetch as typeof globalThis.fetch };
}

const baseUrl = 'https://api.test/v1?key=of-the-query';
const wires = {
  anthropic: (fetch: typeof globalThis.fetch) =>
    anthropic({ model: 'm', apiKey: key, baseUrl, fetch }),
  gemini: (fetch: typeof globalThis.fetch) => gemini({ model: 'm', apiKey: key, baseUrl, fetch }),
  'openai-chat': (fetch: typeof globalThis.fetch) =>
    openaiChat({ model: 'm', apiKey: key, baseUrl, fetch }),
  'openai-responses': (fetch: typeof globalThis.fetch) =>
    openaiResponses({ model: 'm', apiKey: key, baseUrl, fetch }),
};

describe.each(Object.entries(wires))('what %s describes', (_name, provider) => {
  test('is what it sends, without the query and without the key', async () => {
    const { sent, fetch } = recordRequests();
    const spoken = provider(fetch);
    await spoken.complete(request);
    const described = spoken.describe?.(request);
    const [first] = sent;
    const body = parseJson((first?.body ?? '').replaceAll(key, '[key]'));
    expect(described?.body).toEqual(body.ok ? (body.value as JsonObject) : undefined);
    expect(first?.url.split('?')[0]).toBe(described?.url);
    expect(JSON.stringify(described)).not.toMatch(/very-secret|of-the-query/);
    expect(JSON.stringify(described)).toContain('My key is [key], do not tell');
    expect(Object.keys(described ?? {})).toEqual(['method', 'url', 'body']);
  });
});

test('a scripted provider describes the request itself and sends nothing', () => {
  const provider = scriptedProvider([]);
  const described = provider.describe?.(request);
  expect([described?.url, described?.body['maxOutputTokens']]).toEqual([undefined, 100]);
  expect(described?.body['items']).toMatchObject([{ kind: 'system' }, { kind: 'user' }]);
  expect(provider.requests).toEqual([]);
});

test('a provider with a concurrency limit describes the same request', () => {
  const polite = limitConcurrency(scriptedProvider([]), { maxConcurrent: 1 });
  expect(polite.describe?.(request).body['maxOutputTokens']).toBe(100);
});

test('a wrapper can change the request, so a wrapped provider has no description', () => {
  const wrapped = wrapProvider(scriptedProvider([]), (asked, context, next) =>
    next(asked, context),
  );
  expect(wrapped.describe).toBeUndefined();
});
