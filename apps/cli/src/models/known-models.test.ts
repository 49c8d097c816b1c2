import { jsonReply, startScriptedServer } from '@millrace/providers/scripted-server';
import { expect, onTestFinished, test } from 'vitest';
import { chooseModel } from './choose-model.ts';
import { knownModels } from './known-models.ts';

test('all that could be used now is listed by names that can be asked for', async () => {
  const data = [{ id: 'qwen3:8b', context_length: 40_000 }];
  const server = await startScriptedServer(() => jsonReply(200, { data }));
  onTestFinished(() => server.close());
  const ollama = Number(new URL(server.url).port);
  const here: typeof fetch = (url, init) =>
    String(url).startsWith(server.url) ? fetch(url, init) : Promise.reject(new TypeError('no'));
  const env = { MISTRAL_API_KEY: 'k' };
  const models = { mine: { provider: 'mistral', model: 'm' } } as const;
  const look = { ports: { ollama }, fetch: here };
  const known = await knownModels(env, { models }, look);
  expect(known.map(({ name, from }) => [name, from])).toEqual([
    ['mine', 'configured'],
    ['mistral/mistral-medium-latest', 'MISTRAL_API_KEY'],
    ['mistral/mistral-large-latest', 'MISTRAL_API_KEY'],
    ['mistral/mistral-small-latest', 'MISTRAL_API_KEY'],
    ['ollama/qwen3:8b', 'Ollama'],
    ['demo', 'built in'],
  ]);
  expect(known.find(({ from }) => from === 'Ollama')?.contextTokens).toBe(40_000);
  for (const { name } of known) {
    const { provider } = await chooseModel({ config: { model: name, models }, env, ...look });
    expect(provider.model).not.toBe('');
  }
});
