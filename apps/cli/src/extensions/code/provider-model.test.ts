import { type Item, itemId } from '@millrace/core';
import { expect, onTestFinished, test } from 'vitest';
import { openModel } from '../../models/open-model.ts';
import { temporaryFolder, writeExtension } from '../../testing/temporary-folder.ts';
import { loadExtensionCode } from './load-code.ts';

const folder = temporaryFolder('provider-model');
const hello: Item = {
  ...{ kind: 'user', id: itemId('hello') },
  parts: [{ kind: 'text', text: 'Hello' }],
};

/** Loads an extension whose provider has this function, and opens its model. */
async function providerOf(stream: string) {
  const text = `export default (millrace) => millrace.provider({
    name: 'acme', keyVariable: 'ACME_KEY', contextTokens: 1000, stream: ${stream},
  });`;
  const modules = [writeExtension(folder(), 'acme.ts', text)];
  const env = { ACME_KEY: 'the-key' };
  const code = await loadExtensionCode(modules, { cwd: folder(), env });
  if (code === undefined) throw new Error('There is no extension');
  onTestFinished(() => code.close());
  expect(code.problems).toEqual([]);
  const { acme } = code.models;
  if (acme === undefined) throw new Error('There is no model');
  return { provider: openModel(acme, { env: {} }), code };
}

test('23: an extension can send the requests of a model itself', async () => {
  const { provider } = await providerOf(`async function* ({ messages, tools }, { key, cwd }) {
    yield { type: 'reasoning', text: 'Thinking. ' };
    yield { type: 'text', text: messages.at(-1).content + ' ' };
    yield { type: 'text', text: [tools[0].function.name, key, cwd.length > 0].join() };
    yield { type: 'tool_call', id: 'c1', name: 'look', arguments: '{"at":1}' };
    yield { type: 'usage', inputTokens: 12, outputTokens: 5 };
  }`);
  const tools = [{ name: 'look', description: 'Looks', inputSchema: { type: 'object' } }];
  const { item, usage, stop } = await provider.complete({ items: [hello], tools });
  const { parts } = item;
  expect(provider.info?.contextTokens).toBe(1000);
  expect(parts).toMatchObject([
    { kind: 'reasoning', text: 'Thinking. ' },
    { kind: 'text', text: 'Hello look,the-key,true' },
    { kind: 'tool_call', name: 'look', arguments: '{"at":1}' },
  ]);
  expect(stop.reason).toBe('tool_use');
  expect(usage).toMatchObject({ input: 12, output: 5 });
});

test('23: an error before the answer has the status of the extension', async () => {
  const { provider } = await providerOf(`async function* () {
    throw Object.assign(new Error('Too many orders'), { status: 429 });
  }`);
  const { error } = await provider.complete({ items: [hello] });
  expect(error).toMatchObject({ code: 'rate_limit', status: 429 });
  expect(error?.message).toContain('Too many orders');
});

test('23: an error in the middle of an answer keeps the text so far', async () => {
  const { provider } = await providerOf(`async function* () {
    yield { type: 'text', text: 'Half' };
    throw new Error('The line broke');
  }`);
  const { item, error } = await provider.complete({ items: [hello] });
  expect(item.parts).toMatchObject([{ kind: 'text', text: 'Half' }]);
  expect(error?.message).toContain('The line broke');
});

test('23: an answer that the user stops ends in the extension too', async () => {
  const { provider, code } = await providerOf(`async function* (_, { signal }) {
    yield { type: 'text', text: 'Half' };
    millrace.status('begun');
    await new Promise((done) => signal.addEventListener('abort', done));
    millrace.status('stopped');
  }`);
  const stop = new AbortController();
  const answer = provider.complete({ items: [hello] }, { signal: stop.signal });
  await expect.poll(() => code.status()).toEqual(['begun']);
  stop.abort();
  expect((await answer).stop.reason).toBe('aborted');
  await expect.poll(() => code.status()).toEqual(['stopped']);
});
