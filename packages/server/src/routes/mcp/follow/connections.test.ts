import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import type { ScriptEntry } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { toolAgent } from '../../../agents/tool-agent.ts';
import { createServer } from '../../../create-server.ts';
import { memoryRows } from '../../../rows/memory-rows.ts';
import { mcpClient, postMcp, serveMcp } from '../../../testing/mcp/mcp-client.ts';
import { testToken } from '../../../testing/servers/test-server.ts';

const work = defineTool({
  ...{ name: 'work', description: 'Works', input: z.object({}) },
  execute: async (_, context) => {
    context.update('First\nSecond\n');
    context.update('Third\n');
    return 'Done';
  },
});
const withWork = (log: ReturnType<typeof memoryLog>) => [
  toolAgent({ name: 'tools', tools: [work], log }),
];
const structured = (result: object) =>
  (result as { readonly structuredContent?: Record<string, string> }).structuredContent ?? {};

/** Opens a connection of 2025-11-25, and returns functions for its requests and its stream. */
async function connect(url: string, access: Record<string, string> = {}) {
  const hello = {
    ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} },
  };
  const opened = await postMcp(url, hello, access);
  const headers: Record<string, string> = {
    ...access,
    'mcp-session-id': opened.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': '2025-11-25',
  };
  const send = (method: string, params: object, to = url) =>
    postMcp(to, { jsonrpc: '2.0', id: 1, method, params }, headers);
  const listen = async (to = url, more: Record<string, string> = {}) => {
    const leave = new AbortController();
    onTestFinished(() => leave.abort());
    const response = await fetch(`${to}/mcp`, {
      headers: { ...headers, accept: 'text/event-stream', ...more },
      signal: leave.signal,
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    /** Reads up to the next event, and returns its id and its message. */
    const next = async () => {
      for (;;) {
        const [, id, data] = /id: (\S+)\ndata: ?(.+)\n\n/.exec(text) ?? [];
        if (id !== undefined && data !== undefined) {
          text = text.slice(text.indexOf(data) + data.length);
          return { id, message: JSON.parse(data) };
        }
        const { value, done } = await reader.read();
        if (done) return expect.fail('The stream has ended');
        text += new TextDecoder().decode(value);
      }
    };
    return { status: response.status, next, leave: () => leave.abort() };
  };
  return { send, listen, headers };
}

test.each(['2025-11-25', '2025-06-18'] as const)(
  '24.4: a client of %s hears about changes of a session that it follows',
  async (version) => {
    const { url } = await serveMcp(['One.', 'Two.', 'Three.']);
    const client = await mcpClient(url, { version });
    const called = await client.callTool({ name: 'helper', arguments: { message: 'Hi' } });
    const { session_id } = structured(called);
    const uri = `millrace://sessions/${session_id}`;
    const { promise: updated, resolve } = Promise.withResolvers<string>();
    client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
      resolve(params.uri),
    );
    await client.subscribeResource({ uri });
    await client.callTool({ name: 'helper', arguments: { message: 'More', session_id } });
    expect(await updated).toBe(uri);
    await client.unsubscribeResource({ uri });
    await expect(client.subscribeResource({ uri: `${uri}x` })).rejects.toThrow('Cannot follow');
  },
);

test('24.4: a subscription reaches a stream in another process, and continues after a cut', async () => {
  const log = memoryLog();
  const rows = memoryRows();
  const { url } = await serveMcp(['One.', 'Two.', 'Three.'], { log, server: { rows } });
  const other = createServer({ tokens: 'none', log, rows, agents: withWork(log) });
  onTestFinished(() => other.close());
  const { url: otherUrl } = await other.listen({ port: 0 });
  const { send, listen } = await connect(url);
  const say = async (args: object) =>
    (await send('tools/call', { name: 'helper', arguments: args })).text;
  const [, id = ''] = /"session_id":"(\w+)"/.exec(await say({ message: 'Hi' })) ?? [];
  const uri = `millrace://sessions/${id}`;
  expect((await send('resources/subscribe', { uri })).json.result).toEqual({});
  await say({ message: 'More', session_id: id });
  // The change before the stream was opened is reported.
  const first = await listen();
  const seen = await first.next();
  expect(seen.message).toEqual({
    ...{ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } },
  });
  first.leave();
  await say({ message: 'Again', session_id: id });
  const second = await listen(url, { 'last-event-id': seen.id });
  expect((await second.next()).message.params).toEqual({ uri });
  // A stream of another server reports the changes since the subscription.
  const third = await listen(otherUrl);
  expect((await third.next()).message.params).toEqual({ uri });
});

test('24.4: a resource of the application reports its changes', async () => {
  const changes = new Set<() => void>();
  const page = {
    ...{ uri: 'docs://{page}', name: 'page' },
    read: async () => 'Text',
    watch: async function* (
      values: Readonly<Record<string, string>>,
      _: object,
      stop: AbortSignal,
    ) {
      expect(values).toEqual({ page: 'start' });
      while (!stop.aborted)
        yield await new Promise<void>((resolve) => {
          changes.add(resolve);
          stop.addEventListener('abort', () => resolve());
        });
    },
  };
  const quiet = { uri: 'docs://quiet/page', name: 'quiet', read: async () => 'Text' };
  const { url } = await serveMcp([], { server: { mcp: { resources: [quiet, page] } } });
  const { send, listen } = await connect(url);
  const stream = await listen();
  // The stream is open before the connection has a log.
  await send('resources/subscribe', { uri: 'docs://start' });
  await expect.poll(() => changes.size).toBe(1);
  for (const change of changes) change();
  expect((await stream.next()).message.params).toEqual({ uri: 'docs://start' });
  const refused = await send('resources/subscribe', { uri: 'docs://quiet/page' });
  expect(refused.json.error.code).toBe(-32_002);
});

test('24.4: a connection follows at most 16 resources, and only with its own id', async () => {
  const page = {
    ...{ uri: 'docs://{page}', name: 'page', read: async () => 'Text' },
    watch: async function* () {},
  };
  const { url, log } = await serveMcp([], { server: { mcp: { resources: [page] } } });
  const { send } = await connect(url);
  for (const number of Array.from({ length: 16 }).keys())
    expect((await send('resources/subscribe', { uri: `docs://${number}` })).json.result).toEqual(
      {},
    );
  // A repeated subscription needs no room.
  expect((await send('resources/subscribe', { uri: 'docs://3' })).json.result).toEqual({});
  const full = await send('resources/subscribe', { uri: 'docs://more' });
  expect(full.json.error).toMatchObject({ code: -32_602, message: expect.stringContaining('16') });
  await send('resources/unsubscribe', { uri: 'docs://3' });
  expect((await send('resources/subscribe', { uri: 'docs://more' })).json.result).toEqual({});
  const long = await send('resources/subscribe', { uri: `docs://${'x'.repeat(5000)}` });
  expect(long.json.error.code).toBe(-32_602);
  const message = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe' };
  const nameless = await postMcp(url, { ...message, params: { uri: 'docs://1' } });
  expect(nameless.json.error.message).toContain('Mcp-Session-Id');
  const unknown = await fetch(`${url}/mcp`, { headers: { 'mcp-session-id': 'x' } });
  expect(unknown.status).toBe(404);
  expect((await log.list()).length).toBe(1);
});

test('24.4: a token for one task follows nothing else, also with the connection of another caller', async () => {
  const token = testToken('operator');
  const bearer = { authorization: `Bearer ${token}` };
  const secret = {
    ...{ uri: 'internal://secret', name: 'secret', read: async () => 'Text' },
    watch: async function* () {
      yield 1;
    },
  };
  const server = { tokens: [token], mcp: { resources: [secret] } };
  const { url, log } = await serveMcp(['One.', 'Two.'], { server });
  const owner = await connect(url, bearer);
  const started = await owner.send('tools/call', { name: 'helper', arguments: { message: 'Hi' } });
  const [, id = ''] = /"session_id":"(\w+)"/.exec(started.text) ?? [];
  const other = await owner.send('tools/call', { name: 'helper', arguments: { message: 'Hi' } });
  const [, otherId = ''] = /"session_id":"(\w+)"/.exec(other.text) ?? [];
  await owner.send('resources/subscribe', { uri: 'internal://secret' });
  const issued = await fetch(`${url}/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer },
    body: JSON.stringify({ task_id: id }),
  });
  const { token: narrow } = (await issued.json()) as { readonly token: string };
  const guest = await connect(url, { authorization: `Bearer ${narrow}` });
  for (const uri of ['internal://secret', `millrace://sessions/${otherId}`])
    expect((await guest.send('resources/subscribe', { uri })).json.error.code).toBe(-32_002);
  const uri = `millrace://sessions/${id}`;
  const own = { ...owner.headers, authorization: `Bearer ${narrow}` };
  const message = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } };
  expect((await postMcp(url, message, own)).json.result).toEqual({});
  // The request changed a connection of its own, and not the connection of the owner.
  const logs = (await log.list()).filter(({ session }) => session.startsWith('mcp-connection-'));
  expect(logs.map(({ through }) => through)).toEqual([1, 1]);
});

test('24.4: a client that sets a level gets messages about a call', async () => {
  const { url, log } = await serveMcp([], { more: withWork });
  const { send, listen } = await connect(url);
  const call = async () => {
    const { text } = await send('tools/call', { name: 'work', arguments: {} });
    return [...text.matchAll(/"level":"(\w+)","logger":"(\w+)","data":"([^"]*)"/g)].map(
      ([, ...parts]) => parts.join(' '),
    );
  };
  expect(await call()).toEqual([]);
  expect((await send('logging/setLevel', { level: 'loud' })).json.error.code).toBe(-32_602);
  expect((await send('logging/setLevel', { level: 'info' })).json.result).toEqual({});
  expect(await call()).toEqual(['info work First', 'info work Second', 'info work Third']);
  await send('logging/setLevel', { level: 'debug' });
  expect((await call()).length).toBe(4);
  await send('logging/setLevel', { level: 'error' });
  expect(await call()).toEqual([]);
  // A repeated request stores nothing.
  const own = (await log.list()).filter(({ session }) => session.startsWith('mcp-connection-'));
  await send('logging/setLevel', { level: 'error' });
  expect(own.map(({ through }) => through)).toEqual([3]);
  expect((await log.info(own[0]?.session ?? sessionId('x')))?.through).toBe(3);
  expect((await listen()).status).toBe(200);
});

test('24.4: a request of 2026-07-28 with a level gets messages, and a failed run is an error', async () => {
  const failing: ScriptEntry = () => {
    throw new Error('no model');
  };
  const { url } = await serveMcp([failing], { more: withWork });
  const call = async (name: string, args: object, level?: string) => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      ...(level && { 'io.modelcontextprotocol/logLevel': level }),
    };
    const params = { name, arguments: args, _meta: meta };
    const headers = {
      ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name },
    };
    return postMcp(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers);
  };
  expect((await call('work', {})).text).not.toContain('notifications/message');
  expect((await call('work', {}, 'info')).text).toContain('"data":"Third"');
  expect((await call('work', {}, 'loud')).json.error.code).toBe(-32_602);
  expect((await call('helper', { message: 'Hi' }, 'error')).text).toMatch(
    /"level":"error","logger":"run","data":"The run failed/,
  );
});
