import { itemId } from '@millrace/core';
import {
  jsonReply,
  type ScriptedServer,
  startScriptedServer,
} from '@millrace/providers/scripted-server';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../config/load-config.ts';
import type { ModelConfig } from '../contract/config.ts';
import { homeAndProject } from '../testing/test-agent.ts';
import { openModel } from './open-model.ts';

const hello = { id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text: 'Hi' }] } as const;

let server: ScriptedServer;
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(() => server.close());

/** Opens a model with this configuration, and returns the request that the server received. */
async function asked(
  config: ModelConfig,
  env: Readonly<Record<string, string>> = {},
  searchesWeb = false,
) {
  server.answer({ text: 'Hello' });
  const { text } = await openModel(config, { env, searchesWeb }).complete({ items: [hello] });
  expect(text).toBe('Hello');
  const { path, headers, body } = await server.nextRequest();
  return { path, headers, body };
}

describe('a model is asked by the API of its vendor, with the key of the given environment:', () => {
  test.each<[ModelConfig['provider'], string, string]>([
    ['anthropic', '/v1/messages', 'x-api-key'],
    ['gemini', '/v1beta/models/m:streamGenerateContent', 'x-goog-api-key'],
    ['openai', '/chat/completions', 'authorization'],
    ['openrouter', '/chat/completions', 'authorization'],
    ['azure', '/openai/deployments/m/chat/completions', 'api-key'],
    ['ollama', '/chat/completions', 'authorization'],
    ['compatible', '/chat/completions', 'authorization'],
  ])('%s', async (provider, path, header) => {
    const baseUrl = provider === 'gemini' ? `${server.url}/v1beta` : server.url;
    const request = await asked({ provider, model: 'm', baseUrl, apiKey: 'k' });
    expect(request.path).toBe(path);
    expect(request.headers[header]).toMatch(/^(?:Bearer )?k$/);
  });

  test('by the older API of OpenAI only where that is said or its server is another', async () => {
    const config = { provider: 'openai', model: 'm', baseUrl: server.url, apiKey: 'k' } as const;
    expect((await asked({ ...config, api: 'responses' })).path).toBe('/responses');
    expect((await asked({ ...config, api: 'chat' })).path).toBe('/chat/completions');
    const { id } = openModel({ provider: 'openai', model: 'm', apiKey: 'k' }, { env: {} });
    expect(id).toBe('openai-responses');
  });

  test('at the address that the environment says', async () => {
    const env = { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: 'from env' };
    const { headers } = await asked({ provider: 'anthropic', model: 'm' }, env);
    expect(headers['x-api-key']).toBe('from env');
  });

  test('with headers of its own, and then without a key', async () => {
    const headers = { authorization: 'Basic abc' };
    const config = { provider: 'groq', model: 'm', baseUrl: server.url, headers } as const;
    expect((await asked(config)).headers['authorization']).toBe('Basic abc');
  });
});

test.each<[ModelConfig, object]>([
  [
    { provider: 'anthropic', model: 'm' },
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  ],
  [{ provider: 'gemini', model: 'm' }, { tools: [{ googleSearch: {} }] }],
  [{ provider: 'openai', model: 'm', api: 'responses' }, { tools: [{ type: 'web_search' }] }],
])('23.5: the provider of %j searches the web if it should', async (config, expected) => {
  const baseUrl = config.provider === 'gemini' ? `${server.url}/v1beta` : server.url;
  const given = { ...config, baseUrl, apiKey: 'k' };
  expect((await asked(given, {}, true)).body).toMatchObject(expected);
  expect((await asked(given)).body).not.toHaveProperty('tools');
});

test('the newer API of one that is not known to have it needs an address', () => {
  const config = { provider: 'groq', model: 'm', api: 'responses', apiKey: 'k' } as const;
  expect(() => openModel(config, { env: {} })).toThrow('its address is unknown');
});

// Regression: only a configured address was used.
test('Azure by the newer API takes its address from the environment, and says so', () => {
  const config = { provider: 'azure', model: 'm', api: 'responses', apiKey: 'k' } as const;
  const env = { AZURE_OPENAI_ENDPOINT: 'https://weather.openai.azure.com' };
  expect(openModel(config, { env }).id).toContain('azure');
  expect(() => openModel(config, { env: {} })).toThrow('Set AZURE_OPENAI_ENDPOINT, or add it with');
});

describe('Claude on Bedrock', () => {
  const config = { provider: 'bedrock', model: 'us.anthropic.claude-sonnet-4-5' } as const;
  const keys = { AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret-of-aws' };
  const region = { AWS_REGION: 'eu-west-1' };

  /** Returns the address and the headers of a request. */
  async function sent(env: Readonly<Record<string, string>>) {
    const requests: (readonly [host: string, authorization: string | null])[] = [];
    const fetch: typeof globalThis.fetch = async (url, init) => {
      const { host } = new URL(String(url));
      requests.push([host, new Headers(init?.headers).get('authorization')]);
      return new Response('{}', { status: 400 });
    };
    await openModel(config, { env, transport: { fetch } }).complete({ items: [hello] });
    return requests[0] ?? [];
  }

  test('is asked with its own key, or else with a signature', async () => {
    const own = { ...region, ...keys, AWS_BEARER_TOKEN_BEDROCK: 'key-of-bedrock' };
    const host = 'bedrock-runtime.eu-west-1.amazonaws.com';
    expect(await sent(own)).toEqual([host, 'Bearer key-of-bedrock']);
    const [signedHost, signature] = await sent({ ...region, ...keys });
    expect(signedHost).toBe(host);
    expect(signature).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\//);
  });

  test('needs keys and a region', () => {
    expect(() => openModel(config, { env: region })).toThrow(
      /Set AWS_BEARER_TOKEN_BEDROCK .* or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
    );
    expect(() => openModel(config, { env: keys })).toThrow('Set AWS_REGION');
  });
});

test('18.202: attack: a server repeats a key in the path of its address', async () => {
  const key = 'a-key-of-a-gateway-1234';
  const gateway = await startScriptedServer(({ path }) => jsonReply(404, { error: `No ${path}` }));
  onTestFinished(() => gateway.close());
  const variable = '$'.concat('{GATEWAY_KEY}');
  const baseUrl = `${gateway.url}/${variable}/v1`;
  const { cwd, env } = homeAndProject({
    'home/.config/millrace/config.json': JSON.stringify({
      models: { gate: { provider: 'compatible', model: 'm', baseUrl } },
    }),
  });
  const { models } = await loadConfig({ args: {}, env: { ...env, GATEWAY_KEY: key }, cwd });
  const [config] = Object.values(models);
  if (config === undefined) throw new Error('The model is missing');
  const { error } = await openModel(config, { env: {} }).complete({ items: [hello] });
  expect((await gateway.nextRequest()).path).toContain(key);
  expect(error?.message).toContain('/[redacted]/v1');
  expect(error?.message).not.toContain(key);
});
