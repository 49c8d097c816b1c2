import { inspect } from 'node:util';
import {
  jsonReply,
  type ScriptedServer,
  startScriptedServer,
} from '@millrace/providers/scripted-server';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Config, ModelConfig } from '../contract/config.ts';
import { ModelError } from '../contract/errors.ts';
import { type ChooseOptions, chooseModel } from './choose-model.ts';
import type { Ports } from './local-servers.ts';

const key = 'sk-very-secret-1234567890';
const nowhere = () => Promise.reject(new TypeError('refused'));

/** By default, no model server answers on this machine. */
const choose = (model: string | undefined, options: Partial<ChooseOptions> = {}) =>
  chooseModel({ config: { model, models: {} }, env: {}, fetch: nowhere, ...options });

const configured = (name: string, models: Readonly<Record<string, ModelConfig>>) => ({
  config: { model: name, models } satisfies Partial<Config>,
});

async function failure(chosen: Promise<unknown>): Promise<ModelError> {
  const error = await chosen.catch((thrown: unknown) => thrown);
  if (error instanceof ModelError) return error;
  throw new Error(`It is no ModelError: ${inspect(error)}`);
}

async function listing(...ids: readonly string[]): Promise<ScriptedServer> {
  const data = ids.map((id) => ({ id, object: 'model' }));
  const server = await startScriptedServer(() => jsonReply(200, { object: 'list', data }));
  onTestFinished(() => server.close());
  return server;
}

const portOf = ({ url }: ScriptedServer) => Number(new URL(url).port);

/** Returns options with servers at these ports. No other server answers. */
function servers(ports: Ports): Partial<ChooseOptions> {
  const fetchThere: typeof fetch = (url, init) =>
    Object.values(ports).some((port) => String(url).includes(`:${port}/`))
      ? fetch(url, init)
      : nowhere();
  return { ports, fetch: fetchThere };
}

describe('without an option, the model is', () => {
  test.each([
    ['ANTHROPIC_API_KEY', 'anthropic'],
    ['OPENAI_API_KEY', 'openai'],
    ['GEMINI_API_KEY', 'gemini'],
    ['GOOGLE_API_KEY', 'gemini'],
    ['OPENROUTER_API_KEY', 'openrouter'],
    ['GROQ_API_KEY', 'groq'],
    ['MISTRAL_API_KEY', 'mistral'],
    ['DEEPSEEK_API_KEY', 'deepseek'],
    ['XAI_API_KEY', 'xai'],
    ['TOGETHER_API_KEY', 'together'],
  ])('by %s one of %s', async (variable, vendor) => {
    const chosen = await choose(undefined, { env: { [variable]: key } });
    expect(chosen.label.startsWith(`${vendor}/`)).toBe(true);
    expect(chosen.why).toBe(`Using ${chosen.label}, because ${variable} is set.`);
    expect(chosen.isDemo).toBe(false);
    expect(`${vendor}/${chosen.provider.model}`).toBe(chosen.label);
  });

  test('that of the first key, whatever else is set, and an empty key is none', async () => {
    const env = { XAI_API_KEY: key, OPENAI_API_KEY: key, ANTHROPIC_API_KEY: ' ' };
    expect((await choose(undefined, { env })).why).toContain('OPENAI_API_KEY');
  });

  test('one of a key, though a server answers, which is not asked then', async () => {
    const server = await listing('qwen3:8b');
    const env = { GROQ_API_KEY: key };
    const { label } = await choose(undefined, { env, ...servers({ ollama: portOf(server) }) });
    expect(label.startsWith('groq/')).toBe(true);
    expect(server.requests).toEqual([]);
  });

  test('the first of a local server that is for talk', async () => {
    const server = await listing('nomic-embed-text:latest', 'qwen3:8b', 'llama4');
    const chosen = await choose(undefined, servers({ ollama: portOf(server) }));
    expect(chosen.label).toBe('ollama/qwen3:8b');
    expect(chosen.why).toBe(
      `Using ollama/qwen3:8b, because Ollama answers at http://127.0.0.1:${portOf(server)}.`,
    );
    const paths = server.requests.map(({ path }) => path);
    // The list of models does not contain the context window. Ollama reports it at the other two
    // paths.
    expect(paths).toEqual(['/v1/models', '/api/ps', '/api/show']);
  });

  test('that of the preferred server, where several answer, and of one that has any', async () => {
    const [empty, vllm, studio] = [await listing(), await listing('v'), await listing('s')];
    const ports = { ollama: portOf(empty), vllm: portOf(vllm), 'lm-studio': portOf(studio) };
    expect((await choose(undefined, servers(ports))).label).toBe('lm-studio/s');
  });

  test('the demo, where there is neither', async () => {
    const chosen = await choose(undefined);
    expect(chosen).toMatchObject({ label: 'demo', isDemo: true });
    expect(chosen.why).toContain('no API key is set and no local model server answers');
  });
});

describe('a model that is asked for', () => {
  test.each([
    ['anthropic/claude-opus-5-5', 'ANTHROPIC_API_KEY', 'anthropic/claude-opus-5-5'],
    ['claude-new-9', 'ANTHROPIC_API_KEY', 'anthropic/claude-new-9'],
    ['gpt-5.5', 'OPENAI_API_KEY', 'openai/gpt-5.5'],
    ['google/gemini-x', 'GEMINI_API_KEY', 'gemini/gemini-x'],
    ['openrouter/moonshotai/kimi', 'OPENROUTER_API_KEY', 'openrouter/moonshotai/kimi'],
    ['mistral', 'MISTRAL_API_KEY', 'mistral/mistral-medium-latest'],
    ['Groq/any', 'GROQ_API_KEY', 'groq/any'],
  ])('%s with %s is %s', async (name, variable, label) => {
    const chosen = await choose(name, { env: { [variable]: key } });
    expect(chosen.label).toBe(label);
    expect(chosen.why).toBe(`Using ${label}, as requested.`);
  });

  test('is taken from the vendor whose key is there, where two have it', async () => {
    const env = { TOGETHER_API_KEY: key };
    const { label } = await choose('openai/gpt-oss-120b', { env: { ...env, OPENAI_API_KEY: key } });
    expect(label).toBe('openai/gpt-oss-120b');
    expect((await choose('together/openai/gpt-oss-120b', { env })).label).toBe(
      'together/openai/gpt-oss-120b',
    );
  });

  test('may be the demo, though there is a key', async () => {
    const chosen = await choose('demo', { env: { OPENAI_API_KEY: key } });
    expect([chosen.isDemo, chosen.why]).toEqual([true, expect.stringContaining('as requested')]);
  });

  test('may be one that is configured, with all that is said there', async () => {
    const own: ModelConfig = {
      provider: 'compatible',
      model: 'm',
      baseUrl: 'http://127.0.0.1:9/v1',
      contextTokens: 5000,
      reasoning: 'low',
      maxOutputTokens: 100,
    };
    const chosen = await choose(undefined, configured('mine', { mine: own }));
    expect(chosen).toMatchObject({
      label: 'compatible/m',
      why: 'Using compatible/m, which is configured as mine.',
      contextTokens: 5000,
      request: { reasoning: 'low', maxOutputTokens: 100 },
    });
  });

  test('is asked to think as its own configuration says, else as that of all does', async () => {
    const env = { OPENAI_API_KEY: key };
    const config = { model: 'gpt-5.5', models: {}, reasoning: 'high' } as const;
    expect((await choose(undefined, { env, config })).request).toEqual({ reasoning: 'high' });
  });

  test('of a server is found by its name, also without its tag, and by any spelling of case', async () => {
    const server = await listing('Qwen3:latest', 'llama4:8b');
    const at = servers({ ollama: portOf(server) });
    expect((await choose('ollama/qwen3', at)).label).toBe('ollama/Qwen3:latest');
    expect((await choose('ollama', at)).label).toBe('ollama/Qwen3:latest');
    expect((await choose('llama4:8b', at)).label).toBe('ollama/llama4:8b');
  });

  test('of a server has the length that the server tells', async () => {
    const server = await startScriptedServer(() =>
      jsonReply(200, { data: [{ id: 'm', max_model_len: 32_768 }] }),
    );
    onTestFinished(() => server.close());
    const chosen = await choose('vllm/m', servers({ vllm: portOf(server) }));
    expect(chosen.contextTokens).toBe(32_768);
  });
});

describe('a model that cannot be used is an error that says what to do:', () => {
  test('without a key, which variable and where to get one', async () => {
    const error = await failure(choose('anthropic/claude-opus-5-5'));
    expect(error.code).toBe('no_key');
    expect(error.message).toContain('Set ANTHROPIC_API_KEY');
    expect(error.message).toContain('https://console.anthropic.com');
  });

  test('misspelt, which are like it', async () => {
    const error = await failure(choose('claud-sonet-5-5'));
    expect(error.code).toBe('unknown_model');
    expect(error.message).toContain('anthropic/claude-sonnet-5-5');
    expect(error.message).toContain('set ANTHROPIC_API_KEY (create a key at https://');
  });

  test('unlike any, how models are named; with a slash, perhaps by way of OpenRouter', async () => {
    const { message } = await failure(choose('zzzzzzzzzz'));
    expect(message).toContain('Use provider/model, such as anthropic/claude-sonnet-5-5, or demo');
    expect((await failure(choose('nobody/knows-it'))).message).toContain(
      'openrouter/nobody/knows-it',
    );
  });

  // Regression: the error for bedrock was "Did you mean demo? For models of anthropic set
  // ANTHROPIC_API_KEY".
  test.each(['bedrock', 'bedrock/'])(
    'only a provider (%s), that the model is missing',
    async (name) => {
      const { message } = await failure(choose(name));
      expect(message).toContain('bedrock is a provider; add the model: bedrock/<model>');
    },
  );

  test('of a server that does not run, how to start it', async () => {
    const error = await failure(choose('ollama/qwen3'));
    expect(error.code).toBe('no_server');
    expect(error.message).toContain('Start it: ollama serve');
  });

  test('that its server does not have, what it has', async () => {
    const server = await listing('qwen3:8b');
    const error = await failure(choose('ollama/qwen4', servers({ ollama: portOf(server) })));
    expect(error.code).toBe('unknown_model');
    expect(error.message).toContain('It has qwen3:8b. Download it: ollama pull qwen4');
  });

  test('without an address, where to say it', async () => {
    for (const name of ['compatible/m', 'azure/mine'])
      expect(await failure(choose(name, { env: { AZURE_API_KEY: key } }))).toMatchObject({
        code: 'no_address',
        message: expect.stringContaining('"baseUrl"'),
      });
  });
});

test('a key is in nothing that could be shown', async () => {
  const env = { ANTHROPIC_API_KEY: key, OPENAI_API_KEY: key };
  const shown = [
    await choose(undefined, { env }),
    await choose('gpt-5.5', { env }),
    await failure(choose('gemini/x', { env })),
    await failure(choose('no-such-model', { env })),
  ];
  expect(inspect(shown, { depth: 10, showHidden: true })).not.toContain(key);
});

test('a program that has the port of a server and is none is passed over', async () => {
  const web = await startScriptedServer(() => jsonReply(200, { hello: 'world' }));
  const old = await startScriptedServer(() => jsonReply(404, { data: [{ id: 'x' }] }));
  onTestFinished(async () => void (await Promise.all([web.close(), old.close()])));
  const chosen = await choose(undefined, servers({ 'llama.cpp': portOf(web), vllm: portOf(old) }));
  expect(chosen.isDemo).toBe(true);
});
