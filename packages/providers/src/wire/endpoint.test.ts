import { type Item, itemId } from '@millrace/core';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { Provider } from '../contract/provider.ts';
import { gemini, vertex } from '../gemini/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import type { ApiOptions } from './api-options.ts';

afterEach(() => vi.unstubAllEnvs());

const user: Item = { id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text: 'Hello' }] };

type Options = Partial<ApiOptions> & Pick<ApiOptions, 'fetch'>;
type Make = (options: Options) => Provider;
const place = { project: 'tides', location: 'global', accessToken: 'ya29-token' };

const providers: readonly (readonly [name: string, keyHeader: string, make: Make])[] = [
  ['openaiChat', 'authorization', (options) => openaiChat({ model: 'm', ...options })],
  ['openaiResponses', 'authorization', (options) => openaiResponses({ model: 'm', ...options })],
  ['anthropic', 'x-api-key', (options) => anthropic({ model: 'm', ...options })],
  ['gemini', 'x-goog-api-key', (options) => gemini({ model: 'm', ...options })],
  ['vertex', 'authorization', (options) => vertex({ model: 'm', ...place, ...options })],
];

/** The first request that is sent, and the end of the call. */
async function asked(make: Make, options: Partial<ApiOptions> = {}) {
  const { fetch, requests } = fetchOf([]);
  const { error } = await make({ apiKey: 'our-own-key', fetch, ...options }).complete({
    items: [user],
  });
  return { sent: requests[0], error, requests };
}

describe.each(providers)('%s: headers of the caller', (_, keyHeader, make) => {
  const title = keyHeader.replace(/^./, (letter) => letter.toUpperCase());

  test('count over ours, in whatever case', async () => {
    const headers = { [title]: 'mine', 'X-Team': 'tide', 'Accept-Encoding': 'gzip' };
    const { sent } = await asked(make, { headers });
    expect(sent?.headers.get(keyHeader)).toBe('mine');
    expect(sent?.headers.get('x-team')).toBe('tide');
    expect(sent?.headers.get('accept-encoding')).toBe('gzip');
  });

  test('that are undefined take ours away', async () => {
    const { sent } = await asked(make, { headers: { [title]: undefined, Accept: undefined } });
    expect(sent?.headers.has(keyHeader)).toBe(false);
    expect(sent?.headers.has('accept')).toBe(false);
  });

  test('may be a Headers object or pairs', async () => {
    for (const headers of [new Headers({ 'X-Team': 'tide' }), [['X-Team', 'tide']] as const]) {
      expect((await asked(make, { headers })).sent?.headers.get('x-team')).toBe('tide');
    }
  });

  test('that are no text are invalid, and nothing is sent', async () => {
    const headers = { 'x-count': 5 as unknown as string };
    const { error, requests } = await asked(make, { headers });
    expect(error).toMatchObject({ kind: 'invalid_request', retryable: false });
    expect(error?.message).toContain('x-count');
    expect(requests).toEqual([]);
  });

  test('are those of when the provider was made', async () => {
    const headers: Record<string, string> = { 'x-team': 'tide' };
    const { fetch, requests } = fetchOf([]);
    const options = { apiKey: 'our-own-key', fetch, headers, baseUrl: 'http://127.0.0.1:9' };
    const provider = make(options);
    headers['x-team'] = 'moon';
    Object.assign(options, { baseUrl: 'http://127.0.0.1:10', apiKey: 'other', model: 'other' });
    await provider.complete({ items: [user] });
    expect(requests[0]?.headers.get('x-team')).toBe('tide');
    expect(requests[0]?.url).toContain('127.0.0.1:9/');
  });
});

test.each(providers)('%s needs no key where the caller gives its header', async (_, name, make) => {
  vi.stubEnv('OPENAI_API_KEY', '');
  vi.stubEnv('ANTHROPIC_API_KEY', '');
  vi.stubEnv('GEMINI_API_KEY', '');
  vi.stubEnv('GOOGLE_API_KEY', '');
  const { sent } = await asked(make, { apiKey: undefined, headers: { [name]: 'mine' } });
  expect(sent?.headers.get(name)).toBe('mine');
});

describe.each(providers)('%s: a base URL', (_, _keyHeader, make) => {
  test('may be a URL object', async () => {
    const { sent } = await asked(make, { baseUrl: new URL('http://127.0.0.1:9/v1/') });
    expect(sent?.url).toMatch(/^http:\/\/127\.0\.0\.1:9\/v1\/[a-z]/);
  });

  test('with a query has it at the end of the address, and its fragment goes', async () => {
    const { sent } = await asked(make, { baseUrl: 'http://127.0.0.1:9/v1/?team=a%20b&x=#top' });
    const { pathname, searchParams, hash } = new URL(sent?.url ?? '');
    expect(pathname).toMatch(/^\/v1\/[a-z]/);
    expect([searchParams.get('team'), searchParams.get('x'), hash]).toEqual(['a b', '', '']);
  });
});

describe.each(providers)('%s: a key', (name, _keyHeader, make) => {
  const option = name === 'vertex' ? 'accessToken' : 'apiKey';

  test.each<[string, unknown]>([
    ['a number', 12345],
    ['a promise', Promise.resolve('key')],
  ])('that is %s is told as such, and nothing is sent', async (what, key) => {
    const { error, requests } = await asked(make, { [option]: key });
    expect(error).toMatchObject({ kind: 'auth', retryable: false });
    expect(error?.message).toMatch(/^Cannot send the request to \S+: /);
    expect(error?.message).toContain(`: ${option} is ${what}; it must be`);
    expect(error?.message).not.toContain('12345');
    expect(requests).toEqual([]);
  });
});

describe('a token of Vertex', () => {
  const ask = (accessToken: () => string) =>
    asked((options) => vertex({ model: 'm', ...place, ...options, accessToken }));

  test('that is promised is told', async () => {
    const { error } = await ask((async () => 'token') as unknown as () => string);
    expect(error?.kind).toBe('auth');
    expect(error?.message).toContain('accessToken is a promise');
  });

  test('that cannot be got is told, with the cause', async () => {
    const { error } = await ask(() => {
      throw new Error('no metadata server');
    });
    expect(error?.kind).toBe('auth');
    expect(error?.cause).toMatchObject({ message: 'no metadata server' });
  });
});

describe('Azure', () => {
  const chat: Make = (options) => openaiChat({ model: 'm', preset: 'azure', ...options });
  const responses: Make = (options) => openaiResponses({ model: 'm', preset: 'azure', ...options });
  const host = 'https://r.openai.azure.com';

  test.each([
    ['chat', chat],
    ['responses', responses],
  ] as const)('%s: without an address nothing is sent, and it is told', async (_, make) => {
    const { error, requests } = await asked(make);
    expect(error).toMatchObject({ kind: 'invalid_request', retryable: false });
    expect(error?.message).toContain(`pass baseUrl, for example https://NAME.openai.azure.com`);
    expect(requests).toEqual([]);
  });

  test.each([host, `${host}/`, `${host}/openai`, `${host}/openai/v1`, `${host}/openai/v1/`])(
    'takes %s as base',
    async (baseUrl) => {
      expect((await asked(chat, { baseUrl })).sent?.url).toMatch(
        `${host}/openai/deployments/m/chat/completions?api-version=2`,
      );
      expect((await asked(responses, { baseUrl })).sent?.url).toBe(
        `${host}/openai/v1/responses?api-version=v1`,
      );
    },
  );

  test('takes the version from the address where it has one', async () => {
    const { sent } = await asked(chat, { baseUrl: `${host}/openai?api-version=v9` });
    expect(sent?.url).toBe(`${host}/openai/deployments/m/chat/completions?api-version=v9`);
  });

  test('takes a token instead of a key', async () => {
    vi.stubEnv('AZURE_OPENAI_API_KEY', '');
    vi.stubEnv('AZURE_API_KEY', '');
    const headers = { Authorization: 'Bearer entra' };
    const { sent } = await asked(chat, { baseUrl: host, apiKey: undefined, headers });
    expect(sent?.headers.get('authorization')).toBe('Bearer entra');
    expect(sent?.headers.has('api-key')).toBe(false);
  });

  test('is not led astray by the name of a deployment', async () => {
    const { error, requests } = await asked((options) => chat({ ...options, model: '..' }), {
      baseUrl: host,
    });
    expect(error?.kind).toBe('invalid_request');
    expect(requests).toEqual([]);
  });
});

describe('names that lead elsewhere are refused, and nothing is sent', () => {
  const vertexAt = (options: object) =>
    asked((given) => vertex({ model: 'm', ...place, ...given, ...options }));

  test.each<[string, object]>([
    ['a location with a host', { location: 'evil.example/' }],
    ['a location with a dot', { location: 'evil.example' }],
    ['a location with a fragment', { location: 'evil#' }],
    ['a project with a path', { project: '../../x' }],
    ['a project that is none', { project: undefined }],
    ['a location that is empty', { location: '' }],
    ['a model with two dots', { model: 'publishers/../../x' }],
    ['a model with a dot', { model: './x' }],
  ])('%s', async (_, options) => {
    const { error, requests } = await vertexAt(options);
    expect(error).toMatchObject({ kind: 'invalid_request', retryable: false });
    expect(requests).toEqual([]);
  });

  test.each(['../x', 'models/..', 'a/./b'])('Gemini: %s', async (model) => {
    const { error, requests } = await asked((options) => gemini({ ...options, model }));
    expect(error).toMatchObject({ kind: 'invalid_request', retryable: false });
    expect(requests).toEqual([]);
  });

  test('but what can be encoded is', async () => {
    const { sent } = await asked((options) => gemini({ ...options, model: 'a..b?c#d' }));
    expect(sent?.url).toContain('/models/a..b%3Fc%23d:streamGenerateContent');
  });
});

describe('options that cannot be meant throw when the provider is made', () => {
  test.each<[string, object, RegExp]>([
    ['no model', { model: undefined }, /Cannot use undefined as model/],
    ['an empty model', { model: '' }, /Cannot use "" as model/],
    ['a model that is a number', { model: 4 }, /Cannot use 4 as model/],
    ['a timeout of 0', { timeouts: { idleTimeoutMs: 0 } }, /Cannot use 0 as idleTimeoutMs/],
    ['a timeout below 0', { timeouts: { totalTimeoutMs: -1 } }, /-1 as totalTimeoutMs/],
    ['a timeout that is no number', { timeouts: { firstByteTimeoutMs: '5s' } }, /"5s" as first/],
    ['a timeout of NaN', { timeouts: { idleTimeoutMs: Number.NaN } }, /NaN as idleTimeoutMs/],
    ['a length of 0', { maxEventLength: 0 }, /0 as maxEventLength/],
    ['half a length', { maxEventLength: 1.5 }, /1.5 as maxEventLength/],
    ['half a request', { maxConcurrentRequests: 1.5 }, /1.5 as maxConcurrentRequests/],
  ])('%s', (_, options, message) => {
    for (const [, , make] of providers) {
      expect(() => make({ fetch: undefined, ...options })).toThrow(message);
    }
  });

  test('a preset that is not there, with those that are', () => {
    for (const preset of ['opnai', 'toString']) {
      const options = { model: 'm', preset: preset as 'openai' };
      expect(() => openaiChat(options)).toThrow(/Cannot use preset .*: use one of .*openrouter/);
      expect(() => openaiResponses(options)).toThrow(TypeError);
    }
  });

  test('but a change of the dialect that is undefined is none', async () => {
    const make: Make = (options) =>
      openaiChat({
        model: 'm',
        preset: 'openai',
        ...options,
        dialect: { url: undefined as never },
      });
    expect((await asked(make)).sent?.url).toBe('https://api.openai.com/v1/chat/completions');
  });
});
