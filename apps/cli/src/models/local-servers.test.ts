import { once } from 'node:events';
import { createServer } from 'node:net';
import {
  jsonReply,
  type Reply,
  startScriptedServer,
  streamReply,
} from '@millrace/providers/scripted-server';
import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import {
  isListening,
  type ListOptions,
  listModels,
  localServers,
  serverAddress,
} from './local-servers.ts';

const [ollama, studio] = localServers;

test.each([
  ['127.0.0.1:5000', 'http://127.0.0.1:5000/v1'],
  [':5000', 'http://127.0.0.1:5000/v1'],
  ['0.0.0.0', 'http://127.0.0.1:11434/v1'],
  ['there', 'http://there:11434/v1'],
  ['http://there:1', 'http://there:1/v1'],
  ['https://there', 'https://there:443/v1'],
  ['', 'http://127.0.0.1:11434/v1'],
  ['http://[', 'http://127.0.0.1:11434/v1'],
])('with OLLAMA_HOST %j, Ollama is at %s', (OLLAMA_HOST, address) => {
  if (ollama === undefined || studio === undefined) throw new Error('There are none');
  expect(serverAddress(ollama, { OLLAMA_HOST })).toBe(address);
  expect(serverAddress(studio, { OLLAMA_HOST })).toBe('http://127.0.0.1:1234/v1');
});

async function list(reply: Reply, options: ListOptions = {}) {
  const server = await startScriptedServer([reply]);
  onTestFinished(() => server.close());
  return { server, models: listModels(`${server.url}/v1`, options) };
}

test('a list has ids, and the context length of each model whose server reports it', async () => {
  const data = [
    { id: 'a' },
    { id: 'vllm', max_model_len: 1 },
    { id: 'openrouter', context_length: 2 },
    { id: 'studio', max_context_length: 3 },
    { id: 'llama', meta: { n_ctx: 4 } },
    { id: 'lies', context_length: '5', meta: [] },
  ];
  const { models } = await list(jsonReply(200, { data }));
  expect(await models).toEqual([
    { id: 'a' },
    { id: 'vllm', contextTokens: 1 },
    { id: 'openrouter', contextTokens: 2 },
    { id: 'studio', contextTokens: 3 },
    { id: 'llama', contextTokens: 4 },
    { id: 'lies' },
  ]);
});

test('what is no model is left out of it', async () => {
  const { models } = await list(
    jsonReply(200, { data: [null, 7, 'x', {}, { id: '' }, { id: 'a' }] }),
  );
  expect(await models).toEqual([{ id: 'a' }]);
});

test.each<[string, Reply]>([
  ['a page', { status: 200, headers: {}, steps: ['<html>hello</html>'] }],
  ['another JSON', jsonReply(200, { data: 'none' })],
  ['a refusal', jsonReply(401, { error: 'no' })],
  ['a way to elsewhere', jsonReply(302, {}, { location: 'http://127.0.0.1:9/' })],
  ['half an answer', streamReply(['{"data":[{"id":"a"}', { type: 'cut', how: 'reset' }])],
  ['more than anybody wants', { status: 200, headers: {}, steps: ['['.repeat(5_000_000)] }],
])('%s is no list', async (_what, reply) => {
  expect(await (await list(reply)).models).toBeUndefined();
});

test('a key goes with the question, and nothing does without one', async () => {
  const asked = await list(jsonReply(200, { data: [] }), { apiKey: 'k' });
  await asked.models;
  expect(asked.server.requests[0]?.headers['authorization']).toBe('Bearer k');
  const plain = await list(jsonReply(200, { data: [] }));
  await plain.models;
  expect(plain.server.requests[0]?.headers['authorization']).toBeUndefined();
});

test('a server that is silent is waited for as long as was said, and not longer', async () => {
  const clock = new VirtualClock();
  const { server, models } = await list(streamReply(['{"data":', { type: 'stall' }]), {
    clock,
    timeoutMs: 400,
  });
  await server.nextRequest();
  clock.advance(399);
  expect(clock.pending).toBe(1);
  clock.advance(1);
  expect(await models).toBeUndefined();
  expect(clock.pending).toBe(0);
});

const clock = new VirtualClock();
const within = { clock, timeoutMs: 400 };

async function listening(host: string): Promise<number> {
  const server = createServer((socket) => socket.destroy());
  onTestFinished(() => void server.close());
  await once(server.listen(0, host), 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test('somebody who has the port is there', async () => {
  const port = await listening('127.0.0.1');
  expect(await isListening(`http://127.0.0.1:${port}/v1`, within)).toBe(true);
  expect(clock.pending).toBe(0);
});

test('nobody is where nobody has it', async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await new Promise((resolve) => server.close(resolve));
  expect(await isListening(`http://127.0.0.1:${port}/v1`, within)).toBe(false);
  expect(clock.pending).toBe(0);
});

test('a host that does not answer is not waited for', async () => {
  // An address that is reserved for documentation. No program answers there.
  const asked = isListening('http://192.0.2.1/v1', within);
  clock.advance(400);
  expect(await asked).toBe(false);
});
