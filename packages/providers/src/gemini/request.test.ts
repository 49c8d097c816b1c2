import { type Item, itemId, type Part } from '@millrace/core';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ModelRequest, ReasoningEffort } from '../contract/model-request.ts';
import { fetchOf, type SentRequest, sseOf } from '../testing/fetch-of.ts';
import { gemini, vertex } from './provider.ts';

const done = sseOf([{ candidates: [{ finishReason: 'STOP' }] }]);
const question = item('user', [{ kind: 'text', text: 'When is high water?' }]);

function item(kind: Item['kind'], parts: readonly Part[]): Item {
  return { id: itemId(`${kind}${JSON.stringify(parts).length}`), kind, parts };
}

/** The HTTP request that is sent. */
async function sent(
  request: Partial<ModelRequest> = {},
  options: Partial<Parameters<typeof gemini>[0]> = {},
): Promise<SentRequest> {
  const { fetch, requests } = fetchOf([done]);
  const provider = gemini({
    model: 'gemini-3-flash-preview',
    apiKey: 'AIza-key',
    fetch,
    ...options,
  });
  const { error } = await provider.complete({ items: [question], ...request });
  // The empty answer ignores a tool choice, which does not matter here.
  expect([undefined, 'model_output_invalid']).toContain(error?.kind);
  return requests[0] as SentRequest;
}

async function sentToVertex(
  request: Partial<ModelRequest> = {},
  options: Partial<Parameters<typeof vertex>[0]> = {},
): Promise<SentRequest> {
  const { fetch, requests } = fetchOf([done]);
  const provider = vertex({
    model: 'gemini-3-flash-preview',
    project: 'tides',
    location: 'europe-west4',
    accessToken: 'ya29.token',
    fetch,
    ...options,
  });
  await provider.complete({ items: [question], ...request });
  return requests[0] as SentRequest;
}

afterEach(() => vi.unstubAllEnvs());

describe('the URL', () => {
  test('asks for a stream of events, with the key in a header', async () => {
    const { url, headers } = await sent();
    expect(url).toBe(
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse',
    );
    expect(headers.get('x-goog-api-key')).toBe('AIza-key');
    expect(headers.get('accept-encoding')).toBe('identity');
    expect(url).not.toContain('AIza-key');
  });

  test('may be another, and a model may have a path of its own', async () => {
    const { url } = await sent({}, { baseUrl: 'http://localhost:1/v1/', model: 'tunedModels/a b' });
    expect(url).toBe('http://localhost:1/v1/tunedModels/a%20b:streamGenerateContent?alt=sse');
  });

  test('headers of the caller count over the defaults', async () => {
    const { headers } = await sent(
      {},
      { headers: { 'x-goog-api-key': 'other', 'x-team': 'tide' } },
    );
    expect(headers.get('x-goog-api-key')).toBe('other');
    expect(headers.get('x-team')).toBe('tide');
  });

  test.each(['GEMINI_API_KEY', 'GOOGLE_API_KEY'])('takes the key of %s', async (name) => {
    vi.stubEnv('GEMINI_API_KEY', undefined);
    vi.stubEnv('GOOGLE_API_KEY', undefined);
    vi.stubEnv(name, 'AIza-env');
    const { headers } = await sent({}, { apiKey: undefined });
    expect(headers.get('x-goog-api-key')).toBe('AIza-env');
  });

  test('without a key the stream ends with what to do', async () => {
    vi.stubEnv('GEMINI_API_KEY', undefined);
    vi.stubEnv('GOOGLE_API_KEY', undefined);
    const { error } = await gemini({ model: 'm' }).complete({ items: [question] });
    expect(error?.kind).toBe('auth');
    expect(error?.message).toContain('GEMINI_API_KEY or GOOGLE_API_KEY');
  });
});

describe('Vertex', () => {
  test('has a project, a location and a bearer token', async () => {
    const { url, headers } = await sentToVertex();
    expect(url).toBe(
      'https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/tides/locations/europe-west4/publishers/google/models/gemini-3-flash-preview:streamGenerateContent?alt=sse',
    );
    expect(headers.get('authorization')).toBe('Bearer ya29.token');
    expect(headers.get('x-goog-api-key')).toBeNull();
  });

  test.each([
    ['global', 'https://aiplatform.googleapis.com/'],
    ['eu', 'https://aiplatform.eu.rep.googleapis.com/'],
  ])('knows where %s is', async (location, host) => {
    const { url } = await sentToVertex({}, { location });
    expect(url.startsWith(host)).toBe(true);
  });

  test('a model of another publisher, or an endpoint, has its own path', async () => {
    const { url } = await sentToVertex({}, { model: 'endpoints/42' });
    expect(url).toContain('/locations/europe-west4/endpoints/42:streamGenerateContent');
  });

  test('the token is requested before each request', async () => {
    const { fetch, requests } = fetchOf([done]);
    let count = 0;
    const accessToken = () => `token-${++count}`;
    const model = 'gemini-3-flash-preview';
    const provider = vertex({ model, project: 'p', location: 'global', accessToken, fetch });
    await provider.complete({ items: [question] });
    await provider.complete({ items: [question] });
    expect(requests.map(({ headers }) => headers.get('authorization'))).toEqual([
      'Bearer token-1',
      'Bearer token-2',
    ]);
  });

  test('no token is an error of authentication', async () => {
    const model = 'gemini-3-flash-preview';
    const provider = vertex({ model, project: 'p', location: 'global', accessToken: '' });
    const { error } = await provider.complete({ items: [question] });
    expect(error?.kind).toBe('auth');
  });

  test('arguments stream only where that is asked for, and only with tools', async () => {
    const tools = [{ name: 'get_tide', inputSchema: {} }];
    const config = (body: SentRequest['body']) => body['toolConfig'];
    const asked = { streamFunctionCallArguments: true };
    expect(config((await sentToVertex({ tools }, asked)).body)).toEqual({
      functionCallingConfig: { streamFunctionCallArguments: true },
    });
    expect(config((await sentToVertex({ tools })).body)).toBeUndefined();
    expect(config((await sentToVertex({}, asked)).body)).toBeUndefined();
  });
});

describe('tools', () => {
  const inputSchema = { type: 'object', properties: { port: { type: 'string' } } };
  const tools = [
    { name: 'get_tide', description: 'The tide', inputSchema },
    { name: 'now', inputSchema: {} },
  ];

  test('are function declarations with their JSON Schema', async () => {
    const { body } = await sent({ tools });
    expect(body['tools']).toEqual([
      {
        functionDeclarations: [
          { name: 'get_tide', description: 'The tide', parametersJsonSchema: inputSchema },
          { name: 'now', parametersJsonSchema: {} },
        ],
      },
    ]);
    expect(body['toolConfig']).toBeUndefined();
  });

  test.each([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [{ name: 'now' }, { mode: 'ANY', allowedFunctionNames: ['now'] }],
  ] as const)('the choice %j is the mode %j', async (toolChoice, functionCallingConfig) => {
    const { body } = await sent({ tools, toolChoice });
    expect(body['toolConfig']).toEqual({ functionCallingConfig });
  });

  test('strict tools ask for calls that fit, where calls are not forced anyway', async () => {
    const strict = tools.map((tool) => ({ ...tool, strict: true }));
    const mode = async (request: Partial<ModelRequest>) =>
      (await sent({ tools: strict, ...request })).body['toolConfig'];
    expect(await mode({})).toEqual({ functionCallingConfig: { mode: 'VALIDATED' } });
    expect(await mode({ toolChoice: 'required' })).toEqual({
      functionCallingConfig: { mode: 'ANY' },
    });
  });

  test('no tools, no fields', async () => {
    const { body } = await sent({ tools: [], toolChoice: 'required' });
    expect(Object.keys(body)).toEqual(['contents']);
  });
});

describe('generationConfig', () => {
  test('has what was asked for, and nothing else', async () => {
    const schema = { type: 'object' };
    const { body } = await sent({
      maxOutputTokens: 100,
      temperature: 0,
      topP: 0.9,
      stopSequences: ['END'],
      output: { name: 'tide', schema },
    });
    expect(body['generationConfig']).toEqual({
      maxOutputTokens: 100,
      temperature: 0,
      topP: 0.9,
      stopSequences: ['END'],
      responseMimeType: 'application/json',
      responseJsonSchema: schema,
    });
    expect((await sent()).body['generationConfig']).toBeUndefined();
  });

  test.each<[string, ReasoningEffort, object]>([
    ['gemini-2.5-flash', 'none', { thinkingBudget: 0 }],
    ['gemini-2.5-pro', 'none', { thinkingBudget: 128 }],
    ['gemini-2.5-flash', 'minimal', { thinkingBudget: 512, includeThoughts: true }],
    ['gemini-2.5-flash', 'low', { thinkingBudget: 2048, includeThoughts: true }],
    ['gemini-2.5-flash', 'medium', { thinkingBudget: 8192, includeThoughts: true }],
    ['gemini-2.5-flash', 'high', { thinkingBudget: 16_384, includeThoughts: true }],
    ['gemini-2.5-flash', 'max', { thinkingBudget: 24_576, includeThoughts: true }],
    ['models/gemini-2.5-pro', 'max', { thinkingBudget: 32_768, includeThoughts: true }],
    ['gemini-3-flash-preview', 'none', { thinkingLevel: 'MINIMAL' }],
    ['gemini-3.1-pro-preview', 'none', { thinkingLevel: 'LOW' }],
    ['gemini-3.7-flash', 'minimal', { thinkingLevel: 'LOW', includeThoughts: true }],
    ['gemini-3.5-flash-lite', 'minimal', { thinkingLevel: 'MINIMAL', includeThoughts: true }],
    ['gemini-3.1-pro-preview', 'low', { thinkingLevel: 'LOW', includeThoughts: true }],
    ['gemini-3.1-pro-preview', 'medium', { thinkingLevel: 'MEDIUM', includeThoughts: true }],
    // The first model of generation 3 has only two levels.
    ['gemini-3-pro-preview', 'medium', { thinkingLevel: 'HIGH', includeThoughts: true }],
    ['models/gemini-3-pro', 'medium', { thinkingLevel: 'HIGH', includeThoughts: true }],
    ['gemini-3-pro-preview', 'minimal', { thinkingLevel: 'LOW', includeThoughts: true }],
    ['gemini-3-flash-preview', 'medium', { thinkingLevel: 'MEDIUM', includeThoughts: true }],
    ['gemini-4-argon', 'high', { thinkingLevel: 'HIGH', includeThoughts: true }],
    ['gemini-flash-latest', 'max', { thinkingLevel: 'HIGH', includeThoughts: true }],
  ])('%s thinks with effort %s as %j', async (model, reasoning, thinkingConfig) => {
    const { body } = await sent({ reasoning }, { model });
    expect(body['generationConfig']).toEqual({ thinkingConfig });
  });

  test.each(['gemini-2.0-flash', 'gemma-3-27b-it', 'tunedModels/mine'])(
    '%s is not told how to think',
    async (model) => {
      const { body } = await sent({ reasoning: 'high' }, { model });
      expect(body['generationConfig']).toBeUndefined();
    },
  );

  test('the model decides how much to think by default', async () => {
    const { body } = await sent({ temperature: 1 });
    expect(body['generationConfig']).toEqual({ temperature: 1 });
  });
});

test('fault 7: providerOptions are merged into the body', async () => {
  const { body } = await sent({
    temperature: 1,
    providerOptions: {
      google: { generationConfig: { topK: 4 }, cachedContent: 'cachedContents/1' },
    },
  });
  expect(body['cachedContent']).toBe('cachedContents/1');
  expect(body['generationConfig']).toEqual({ temperature: 1, topK: 4 });
});
