import type { JsonObject } from '@millrace/core';
import { expect, test } from 'vitest';
import { AppHost, type AppServices } from './app-host.ts';

/** Creates a host whose clock stands still, and records what it does. */
function hostFor(given: Partial<AppServices> = {}) {
  const posted: JsonObject[] = [];
  const log: string[] = [];
  let time = 0;
  const host = new AppHost({
    post: (message) => posted.push(message),
    context: () => ({ theme: 'dark' }),
    tools: ['refresh'],
    onInitialized: () => log.push('initialized'),
    onHeight: (height) => log.push(`height ${height}`),
    openLink: async (url) => url === 'https://weather.example/',
    compose: (text) => Promise.resolve(log.push(`message ${text}`) > 0),
    callTool: async (name, given) => ({ content: [], structuredContent: { name, given } }),
    onAbuse: () => log.push('abuse'),
    now: () => time,
    ...given,
  });
  const request = async (method: string, params: JsonObject = {}) => {
    host.receive({ jsonrpc: '2.0', id: posted.length + 1, method, params });
    await new Promise((resolve) => setImmediate(resolve));
    return posted.at(-1);
  };
  const pass = (ms: number) => {
    time += ms;
  };
  return { host, posted, log, request, pass };
}

test('24.4: the host answers the requests of an app', async () => {
  const { request, log, host } = hostFor();
  expect(await request('ui/initialize')).toMatchObject({
    result: {
      protocolVersion: '2026-01-26',
      hostCapabilities: { openLinks: {}, message: { text: {} }, serverTools: {} },
      hostContext: { theme: 'dark' },
    },
  });
  host.receive({ jsonrpc: '2.0', method: 'ui/notifications/initialized' });
  host.receive({ jsonrpc: '2.0', method: 'ui/notifications/size-changed', params: { height: 90 } });
  expect(await request('ui/open-link', { url: 'https://weather.example/' })).toMatchObject({
    result: {},
  });
  expect(await request('ui/open-link', { url: 'https://other.example/' })).toMatchObject({
    result: { isError: true },
  });
  const content = [{ type: 'text', text: ' Hello ' }];
  expect(await request('ui/message', { role: 'user', content })).toMatchObject({ result: {} });
  expect(await request('tools/call', { name: 'refresh', arguments: { a: 1 } })).toMatchObject({
    result: { structuredContent: { name: 'refresh', given: { a: 1 } } },
  });
  expect(await request('ui/request-display-mode', { mode: 'fullscreen' })).toMatchObject({
    result: { mode: 'inline' },
  });
  expect(log).toEqual(['initialized', 'height 90', 'message Hello']);
});

test('24.4: an app learns why a request is refused', async () => {
  const failing = hostFor({ callTool: () => Promise.reject(new Error('The server is closed')) });
  expect(await failing.request('tools/call', { name: 'refresh' })).toMatchObject({
    error: { code: -32_000, message: 'The server is closed' },
  });
  const { request } = hostFor();
  expect(await request('tools/call', { name: 'other' })).toMatchObject({
    error: { code: -32_602, message: 'This app cannot call a tool other' },
  });
  expect(await request('resources/read', { uri: 'x' })).toMatchObject({ error: { code: -32_601 } });
  const silent = hostFor({ tools: [] });
  expect(JSON.stringify(await silent.request('ui/initialize'))).not.toContain('serverTools');
});

test('18.473: attack: an app sends more messages than its limit', () => {
  const { host, log, pass, posted } = hostFor();
  const size = { jsonrpc: '2.0', method: 'ui/notifications/size-changed', params: { height: 1 } };
  for (let n = 0; n < 150; n++) host.receive(size);
  expect(log).toHaveLength(120);
  // A second later, it can send again.
  pass(1000);
  for (let n = 0; n < 50; n++) host.receive(size);
  expect(log).toHaveLength(150);
  for (let n = 0; n < 400; n++) host.receive(size);
  expect(log.at(-1)).toBe('abuse');
  expect(log.filter((one) => one === 'abuse')).toHaveLength(1);
  pass(60_000);
  host.receive({ ...size, id: 1, method: 'ping' });
  expect(posted).toEqual([]);
});

test('18.474: attack: an app opens more requests than it may, or answers after its end', async () => {
  const waiting: ((isOpened: boolean) => void)[] = [];
  const { host, posted, request } = hostFor({
    openLink: () => new Promise((resolve) => waiting.push(resolve)),
  });
  for (let n = 0; n < 20; n++) await request('ui/open-link', { url: 'https://a.example' });
  expect(waiting).toHaveLength(8);
  expect(posted).toHaveLength(12);
  host.close();
  for (const resolve of waiting) resolve(true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(posted).toHaveLength(12);
});
