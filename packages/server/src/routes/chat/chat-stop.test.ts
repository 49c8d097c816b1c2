import { createAgent } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { DefaultChatTransport } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, type ServerOptions } from '../../create-server.ts';
import { BrowserChat } from '../../testing/ai-sdk-client.ts';
import { textDelta } from '../../testing/servers/task-harness.ts';

const stalls = {
  content: { parts: ['One moment please'] },
  fault: { type: 'stall', after: 3 },
} as const;

async function serve(script: readonly ScriptEntry[], options: Partial<ServerOptions> = {}) {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(script), log });
  const server = createServer({
    ...{ tokens: 'none', log, limits: { closeTimeoutMs: 200 } },
    agents: [{ type: 'loop', name: 'helper', agent }],
    ...options,
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const api = `${url}/agents/name/helper/chat`;
  const browse = (headers: Record<string, string> = {}) =>
    new BrowserChat({
      ...{ url, agent: 'helper', id: 'talk' },
      init: { transport: new DefaultChatTransport({ api, headers }) },
    });
  const facts = async () => {
    const [{ session } = expect.fail()] = await log.list();
    const { records } = await log.read(sessionId(session));
    return records.flatMap(({ fact }) => fact ?? []);
  };
  const isStopped = async () =>
    (await facts()).some(({ type, ...fact }) => {
      return type === 'run_finished' && JSON.stringify(fact).includes('"aborted"');
    });
  return { url, api, browse, facts, isStopped };
}

const stopHeader = { 'millrace-on-close': 'stop' };
const hasText = ({ text }: BrowserChat) => text !== '';

test('24.7: with the header, stop() of useChat stops the answer, and the chat goes on', async () => {
  const { browse, isStopped } = await serve([stalls, 'Back again']);
  const chat = browse(stopHeader);
  const sent = chat.sendMessage({ text: 'Hi' });
  await chat.waitUntil(hasText);
  await chat.stop();
  await sent;
  await expect.poll(isStopped).toBe(true);
  expect('One moment please'.startsWith(chat.text)).toBe(true);
  await chat.sendMessage({ text: 'And now?' });
  expect([chat.status, chat.text]).toEqual(['ready', 'Back again']);
});

test('24.7: stop() of a resumed chat stops the answer', async () => {
  const { browse, isStopped } = await serve([stalls]);
  const chat = browse();
  const sent = chat.sendMessage({ text: 'Hi' });
  await chat.waitUntil(hasText);
  await chat.stop();
  await sent;
  const other = browse(stopHeader);
  const resumed = other.resumeStream();
  await other.waitUntil(hasText);
  expect(await isStopped()).toBe(false);
  await other.stop();
  await resumed;
  await expect.poll(isStopped).toBe(true);
});

test('24.7: stop() withdraws a message that waits, and does not stop the answer of another client', async () => {
  const { browse, facts, isStopped } = await serve([stalls]);
  const [chat, other] = [browse(), browse(stopHeader)];
  void chat.sendMessage({ text: 'One' });
  await chat.waitUntil(hasText);
  const waiting = other.sendMessage({ text: 'Two' });
  const queued = async () => (await facts()).filter(({ type }) => type === 'command_queued').length;
  await expect.poll(queued).toBe(2);
  await other.stop();
  await waiting;
  await expect
    .poll(async () =>
      JSON.stringify((await facts()).filter(({ type }) => type === 'command_queued')),
    )
    .toContain('"withdraw"');
  expect([await isStopped(), chat.status]).toEqual([false, 'streaming']);
  await chat.stop();
});

test('24.7: the route stops the answer for all clients, and reports if there is none', async () => {
  const { browse, api, isStopped } = await serve([stalls]);
  const chat = browse();
  const sent = chat.sendMessage({ text: 'Hi' });
  await chat.waitUntil(hasText);
  const stop = async () => (await fetch(`${api}/talk/stop`, { method: 'POST' })).json();
  expect(await stop()).toEqual({ stopped: true });
  await sent;
  expect([await isStopped(), chat.status]).toEqual([true, 'ready']);
  expect(await stop()).toEqual({ stopped: false });
  expect((await fetch(`${api}/none/stop`, { method: 'POST' })).status).toBe(404);
});

test('24.7: the answer of a sync agent is stopped too', async () => {
  const stopped = Promise.withResolvers<void>();
  const { browse } = await serve([], {
    agents: [
      {
        ...{ type: 'sync', name: 'helper' },
        async *onMessage(_content, { signal }) {
          signal.addEventListener('abort', () => stopped.resolve());
          yield textDelta(0, 'One');
          await stopped.promise;
        },
      },
    ],
  });
  const chat = browse(stopHeader);
  const sent = chat.sendMessage({ text: 'Hi' });
  await chat.waitUntil(hasText);
  await chat.stop();
  await sent;
  await stopped.promise;
});

test('24.7: a token that can only read cannot stop an answer, and other values are refused', async () => {
  const token = 'operator-token-of-a-test-0123456789';
  const { browse, url, api, isStopped } = await serve([stalls], { tokens: [token] });
  const operator = { authorization: `Bearer ${token}` };
  const chat = browse(operator);
  void chat.sendMessage({ text: 'Hi' });
  await chat.waitUntil(hasText);
  const created = await fetch(`${url}/tokens`, {
    ...{ method: 'POST', headers: { ...operator, 'content-type': 'application/json' } },
    body: JSON.stringify({ read_only: true }),
  });
  const { token: reading } = (await created.json()) as { readonly token: string };
  const reader = { authorization: `Bearer ${reading}` };
  const statusOf = async (headers: Record<string, string>) =>
    (await fetch(`${api}/talk/stream`, { headers })).status;
  expect(await statusOf({ ...reader, ...stopHeader })).toBe(403);
  expect(await statusOf({ ...operator, 'millrace-on-close': 'now' })).toBe(422);
  const stop = await fetch(`${api}/talk/stop`, { method: 'POST', headers: reader });
  expect([stop.status, await isStopped()]).toEqual([403, false]);
  await chat.stop();
});
