import { inspect } from 'node:util';
import { jsonReply, type Reply, startScriptedServer } from '@millrace/providers/scripted-server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startOllama } from '../../../../packages/providers/src/testing/ollama-server.ts';
import { ModelError } from '../contract/errors.ts';
import { type ChooseOptions, chooseModel } from './choose-model.ts';
import type { LocalName } from './local-servers.ts';

// Tests the messages about local servers that need a key, are loading a model, or have a small
// context window.

const closedPort = 1;
const noServer: Readonly<Record<LocalName, number>> = {
  ...{ ollama: closedPort, 'lm-studio': closedPort, 'llama.cpp': closedPort },
  ...{ vllm: closedPort, litellm: closedPort },
};

const choose = (
  model: string | undefined,
  ports: Partial<Record<LocalName, number>>,
  env: ChooseOptions['env'] = {},
) => chooseModel({ config: { model, models: {} }, env, ports: { ...noServer, ...ports } });

async function failure(chosen: Promise<unknown>): Promise<ModelError> {
  const error = await chosen.catch((thrown: unknown) => thrown);
  if (error instanceof ModelError) return error;
  throw new Error(`It is no ModelError: ${inspect(error)}`);
}

async function serverWith(reply: (path: string, key: string | undefined) => Reply) {
  const server = await startScriptedServer(({ path, headers }) =>
    reply(path, headers['authorization']),
  );
  onTestFinished(() => server.close());
  return Number(new URL(server.url).port);
}

const needsKey = jsonReply(401, { error: { code: 401, message: 'Invalid API Key' } });
const loading = jsonReply(503, { error: { code: 503, message: 'Loading model' } });
const listed = jsonReply(200, { data: [{ id: 'm', meta: { n_ctx: 8192 } }] });

describe('19.19: a server that', () => {
  test.each([
    ['vllm', 'VLLM_API_KEY'],
    ['litellm', 'LITELLM_API_KEY'],
    ['llama.cpp', 'LLAMA_API_KEY'],
  ] as const)(
    'needs a key is not called absent, and the variable is named: %s',
    async (name, variable) => {
      const port = await serverWith(() => needsKey);
      const asked = await failure(choose(`${name}/m`, { [name]: port }));
      expect(asked.code).toBe('no_key');
      expect(asked.message).toContain(`Set ${variable}`);
      expect(asked.message).not.toContain('Start it');
      // If the user names no model, the program must not use the demo in place of this server.
      const unasked = await failure(choose(undefined, { [name]: port }));
      expect(unasked.code).toBe('no_key');
      expect(unasked.message).toContain('--model demo');
    },
  );

  test('lists its models to everyone, but answers only with a key', async () => {
    const port = await serverWith((path, key) =>
      path === '/v1/models' ? listed : key === 'Bearer right' ? jsonReply(200, {}) : needsKey,
    );
    const at = { 'llama.cpp': port };
    expect((await failure(choose('llama.cpp', at))).message).toContain('Set LLAMA_API_KEY');
    const LLAMA_BASE_URL = `http://127.0.0.1:${port}`;
    const wrong = await failure(
      choose('llama.cpp', {}, { LLAMA_BASE_URL, LLAMA_API_KEY: 'wrong-secret-key' }),
    );
    expect(wrong.message).toContain('rejects the key in LLAMA_API_KEY');
    expect(wrong.message).not.toContain('wrong-secret-key');
    const chosen = await choose('llama.cpp', {}, { LLAMA_BASE_URL, LLAMA_API_KEY: 'right' });
    expect(chosen).toMatchObject({ label: 'llama.cpp/m', contextTokens: 8192 });
  });

  test('still loads its model is not called absent', async () => {
    const port = await serverWith(() => loading);
    for (const model of ['llama.cpp', undefined]) {
      const error = await failure(choose(model, { 'llama.cpp': port }));
      expect(error.code).toBe('server_loading');
      expect(error.message).toContain('is loading a model');
      expect(error.message).not.toContain('Start it');
    }
  });

  test('is another program with a page behind a password is passed over', async () => {
    const port = await serverWith(() => ({ status: 401, headers: {}, steps: ['<html>'] }));
    expect((await choose(undefined, { 'llama.cpp': port })).isDemo).toBe(true);
  });
});

describe('19.16: the window of a local model', () => {
  test('is read from Ollama, and a warning about a small one says what to do', async () => {
    const server = await startOllama({ isLoaded: true });
    onTestFinished(() => server.close());
    const chosen = await choose('ollama/qwen3', { ollama: server.port });
    expect(chosen.contextTokens).toBe(4096);
    expect(chosen.warning).toMatch(/context of 4096 tokens.*OLLAMA_CONTEXT_LENGTH/);
  });

  test('is unknown before Ollama has loaded the model', async () => {
    const server = await startOllama();
    onTestFinished(() => server.close());
    const chosen = await choose('ollama/qwen3', { ollama: server.port });
    expect([chosen.contextTokens, chosen.warning]).toEqual([undefined, undefined]);
    // The model must not be loaded only to read its context window.
    expect(server.paths).not.toContain('/api/generate');
  });

  test('limits the requests of a server that tells it', async () => {
    const port = await serverWith((path) => (path === '/v1/models' ? listed : jsonReply(200, {})));
    const { provider, contextTokens } = await choose('llama.cpp', { 'llama.cpp': port });
    expect(contextTokens).toBe(8192);
    const text = 'word '.repeat(10_000);
    const items = [{ id: 'u' as never, kind: 'user', parts: [{ kind: 'text', text }] }] as const;
    const { error } = await provider.complete({ items });
    expect(error?.kind).toBe('context_overflow');
  });
});
