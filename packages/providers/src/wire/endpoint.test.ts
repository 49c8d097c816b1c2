import { type Item, itemId } from '@millrace/core';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { Provider } from '../contract/provider.ts';
import type { VertexOptions } from '../gemini/options.ts';
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

/** Vertex has no API key. */
const vertexWith = ({ apiKey: _key, ...options }: Partial<VertexOptions> & Options) =>
  vertex({ model: 'm', ...place, ...options });

const providers: readonly (readonly [name: string, keyHeader: string, make: Make])[] = [
  ['openaiChat', 'authorization', (options) => openaiChat({ model: 'm', ...options })],
  ['openaiResponses', 'authorization', (options) => openaiResponses({ model: 'm', ...options })],
  ['anthropic', 'x-api-key', (options) => anthropic({ model: 'm', ...options })],
  ['gemini', 'x-goog-api-key', (options) => gemini({ model: 'm', ...options })],
  ['vertex', 'authorization', (options) => vertexWith(options)],
];

/** The first request that is sent, and the end of the call. */
async function firstRequest(make: Make, options: Partial<ApiOptions> = {}) {
  const { fetch, requests } = fetchOf([]);
  const { error } = await make({ apiKey: 'our-own-key', fetch, ...options }).complete({
    items: [user],
  });
  return { sent: requests[0], error, requests };
}

describe.each(providers)('%s: headers of the caller', (_, keyHeader, make) => {
  const title = keyHeader.replace(/^./, (letter) => letter.toUpperCase());

  test('override the defaults, in any case', async () => {
    const headers = { [title]: 'mine', 'X-Team': 'tide', 'Accept-Encoding': 'gzip' };
    const { sent } = await firstRequest(make, { headers });
    expect(sent?.headers.get(keyHeader)).toBe('mine');
    expect(sent?.headers.get('x-team')).toBe('tide');
    expect(sent?.headers.get('accept-encoding')).toBe('gzip');
  });

  test('that are undefined remove the defaults', async () => {
    const { sent } = await firstRequest(make, {
      headers: { [title]: undefined, Accept: undefined },
    });
    expect(sent?.headers.has(keyHeader)).toBe(false);
    expect(sent?.headers.has('accept')).toBe(false);
  });

  test('may be a Headers object or pairs', async () => {
    for (const headers of [new Headers({ 'X-Team': 'tide' }), [['X-Team', 'tide']] as const]) {
      expect((await firstRequest(make, { headers })).sent?.headers.get('x-team')).toBe('tide');
    }
  });

  test('that are not strings are invalid, and nothing is sent', async () => {
    const headers = { 'x-count': 5 as unknown as string };
    const { error, requests } = await firstRequest(make, { headers });
    expect(error).toMatchObject({ kind: 'invalid_request', retryable: false });
    expect(error?.message).toContain('x-count');
    expect(requests).toEqual([]);
  });

  test('are read when the provider is created', async () => {
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
  const { sent } = await firstRequest(make, { apiKey: undefined, headers: { [name]: 'mine' } });
  expect(sent?.headers.get(name)).toBe('mine');
});

describe.each(providers)('%s: a base URL', (_, _keyHeader, make) => {
  test('may be a URL object', async () => {
    const { sent } = await firstRequest(make, { baseUrl: new URL('http://127.0.0.1:9/v1/') });
    expect(sent?.url).toMatch(/^http:\/\/127\.0\.0\.1:9\/v1\/[a-z]/);
  });

  test('with a query has it at the end of the URL, and its fragment goes', async () => {
    const { sent } = await firstRequest(make, {
      baseUrl: 'http://127.0.0.1:9/v1/?team=a%20b&x=#top',
    });
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
  ])('that is %s is reported, and nothing is sent', async (what, key) => {
    const { error, requests } = await firstRequest(make, { [option]: key });
    expect(error).toMatchObject({ kind: 'auth', retryable: false });
    expect(error?.message).toMatch(/^Cannot send the request to \S+: /);
    expect(error?.message).toContain(`: ${option} is ${what}; it must be`);
    expect(error?.message).not.toContain('12345');
    expect(requests).toEqual([]);
  });
});

describe('a token of Vertex', () => {
  const ask = (accessToken: () => string | Promise<string>) =>
    firstRequest((options) => vertexWith({ ...options, accessToken }));

  test('that the function provides later is awaited', async () => {
    const { sent } = await ask(async () => 'late-token');
    expect(sent?.headers.get('authorization')).toBe('Bearer late-token');
  });

  test('that the function cannot provide is reported, with the cause', async () => {
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
  ] as const)('%s: without an address nothing is sent, and the error says so', async (_, make) => {
    const { error, requests } = await firstRequest(make);
    expect(error).toMatchObject({ kind: 'invalid_request', retryable: false });
    expect(error?.message).toContain(`pass baseUrl, for example https://NAME.openai.azure.com`);
    expect(requests).toEqual([]);
  });

  test.each([host, `${host}/`, `${host}/openai`, `${host}/openai/v1`, `${host}/openai/v1/`])(
    'takes %s as base',
    async (baseUrl) => {
      expect((await firstRequest(chat, { baseUrl })).sent?.url).toMatch(
        `${host}/openai/deployments/m/chat/completions?api-version=2`,
      );
      expect((await firstRequest(responses, { baseUrl })).sent?.url).toBe(
        `${host}/openai/v1/responses?api-version=v1`,
      );
    },
  );

  test('takes the version from the URL where it has one', async () => {
    const { sent } = await firstRequest(chat, { baseUrl: `${host}/openai?api-version=v9` });
    expect(sent?.url).toBe(`${host}/openai/deployments/m/chat/completions?api-version=v9`);
  });

  test('takes a token instead of a key', async () => {
    vi.stubEnv('AZURE_OPENAI_API_KEY', '');
    vi.stubEnv('AZURE_API_KEY', '');
    const headers = { Authorization: 'Bearer entra' };
    const { sent } = await firstRequest(chat, { baseUrl: host, apiKey: undefined, headers });
    expect(sent?.headers.get('authorization')).toBe('Bearer entra');
    expect(sent?.headers.has('api-key')).toBe(false);
  });

  test('encodes the name of a deployment', async () => {
    const { error, requests } = await firstRequest((options) => chat({ ...options, model: '..' }), {
      baseUrl: host,
    });
    expect(error?.kind).toBe('invalid_request');
    expect(requests).toEqual([]);
  });
});

describe('names that lead to another path are rejected, and nothing is sent', () => {
  const vertexAt = (options: object) =>
    firstRequest((given) => vertexWith({ ...given, ...options }));

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
    const { error, requests } = await firstRequest((options) => gemini({ ...options, model }));
    expect(error).toMatchObject({ kind: 'invalid_request', retryable: false });
    expect(requests).toEqual([]);
  });

  test('but other names are encoded', async () => {
    const { sent } = await firstRequest((options) => gemini({ ...options, model: 'a..b?c#d' }));
    expect(sent?.url).toContain('/models/a..b%3Fc%23d:streamGenerateContent');
  });
});

describe('invalid options throw when the provider is created', () => {
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

  test('an unknown preset, with the list of known ones', () => {
    for (const preset of ['opnai', 'toString']) {
      const options = { model: 'm', preset: preset as 'openai' };
      expect(() => openaiChat(options)).toThrow(/Cannot use preset .*: use one of .*openrouter/);
      expect(() => openaiResponses(options)).toThrow(TypeError);
    }
  });

  test('but an undefined value in the dialect changes nothing', async () => {
    const make: Make = (options) =>
      openaiChat({
        model: 'm',
        preset: 'openai',
        ...options,
        dialect: { url: undefined as never },
      });
    expect((await firstRequest(make)).sent?.url).toBe('https://api.openai.com/v1/chat/completions');
  });
});
