import { request } from 'node:https';
import { memoryLog } from '@millrace/log';
import { createServer, createToken, type ServedAgent } from '@millrace/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isRequirementMissing } from '../../../../packages/log/src/testing/external-programs.ts';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import { builtPage } from './testing/built-page.ts';
import { describeInChromium } from './testing/needs-chromium.ts';
import { nginxPath, startNginx } from './testing/nginx-proxy.ts';

// Tests nginx with the configuration and the options in docs/proxy.md.

const missing = 'nginx is not installed. These tests need a real proxy. Run npm run test:setup';
const isMissing = isRequirementMissing(nginxPath !== undefined, missing);
const basePath = '/agents';

/** Serves an agent and the page behind nginx. */
async function startBehindNginx(name: string, tokens: readonly string[] | 'none') {
  const log = memoryLog();
  const { promise: isAllowed, resolve: allow } = Promise.withResolvers<void>();
  const delta = (text_delta: string) =>
    ({ type: 'delta', index: 0, delta: { type: 'text', text_delta } }) as const;
  const weather: ServedAgent = {
    type: 'sync',
    name: 'weather',
    async *onMessage() {
      yield delta('It is ');
      await isAllowed;
      yield delta('sunny.');
    },
  };
  const lines: string[] = [];
  const server = createServer({
    ...{ tokens, log, page: builtPage(), basePath },
    ...{ hosts: [name], trustedProxies: ['loopback'] },
    requestLog: { format: 'json', write: (line) => lines.push(line) },
    agents: [weather],
  });
  const listening = await server.listen({ port: 0 });
  const nginx = await startNginx(Number(new URL(listening.url).port), name);
  const close = async () => {
    await server.close();
    await nginx.close();
    await log.close();
  };
  return { url: `https://${name}:${nginx.port}${basePath}`, nginx, lines, allow, close };
}

describe.skipIf(isMissing)('22.5: behind nginx with TLS, under a name and a path', () => {
  test('pages may call the server, streams are not buffered, and the log has the client', async () => {
    const token = createToken();
    const name = 'agents.example';
    const { nginx, lines, allow, close } = await startBehindNginx(name, [token]);
    onTestFinished(close);
    const host = `${name}:${nginx.port}`;
    const send = (method: string, path: string, body?: object, extra = {}) => {
      const { promise, resolve, reject } = Promise.withResolvers<{
        readonly status: number;
        readonly read: (isEnough?: (text: string) => boolean) => Promise<string>;
      }>();
      const sending = request(
        {
          ...{ host: '127.0.0.1', port: nginx.port, servername: name, ca: nginx.certificate },
          ...{ method, path: `${basePath}${path}`, agent: false },
          headers: {
            ...{ host, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            ...{ origin: `https://${host}`, 'sec-fetch-site': 'same-origin' },
            ...{ 'x-forwarded-for': '203.0.113.9', ...extra },
          },
        },
        (incoming) =>
          resolve({
            status: incoming.statusCode ?? 0,
            async read(isEnough = () => false) {
              let text = '';
              incoming.setEncoding('utf8');
              for await (const chunk of incoming) {
                text += chunk;
                if (isEnough(text)) break;
              }
              return text;
            },
          }),
      );
      sending.on('error', reject);
      sending.end(body && JSON.stringify(body));
      return promise;
    };
    expect((await send('GET', '/healthz')).status).toBe(200);
    expect((await send('GET', '/tasks', undefined, { host: 'other.example' })).status).toBe(421);
    const elsewhere = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await send('GET', '/tasks', undefined, elsewhere)).status).toBe(403);
    const content = { type: 'text', author: 'user', content: 'Hello' };
    const rpc = (method: string, params: object) =>
      send('POST', '/agents/name/weather/rpc', { method, params });
    await (await rpc('task/create', { name: 'first' })).read();
    const stream = await send('GET', '/tasks/name/first/stream?view=events');
    const answering = rpc('message/send', { task_name: 'first', content });
    // The first words arrive while the rest of the answer waits. So nginx does not buffer the
    // stream.
    expect(await stream.read((text) => text.includes('It is '))).toContain('It is ');
    allow();
    expect(await (await answering).read()).toContain('It is sunny.');
    const logged = lines.map((line) => JSON.parse(line) as { readonly address: string });
    expect(new Set(logged.map(({ address }) => address))).toEqual(new Set(['203.0.113.9']));
  });
});

(isMissing ? describe.skip : describeInChromium())('22.5: the page behind nginx', () => {
  const harness = useBrowserHarnessFor(() => startBehindNginx('agents.localhost', 'none'));

  test('loads its files, sends, streams and opens a session again', async () => {
    harness.server.allow();
    const visitor = await harness.visitor({ ignoreHTTPSErrors: true });
    const tab = await visitor.tab(`${basePath}/`);
    await tab.send('How is the weather?');
    await tab.waitForText('It is sunny.');
    expect(new URL(tab.page.url()).pathname).toMatch(/^\/agents\/app\/tasks\//);
    await tab.page.reload();
    await tab.waitForText('It is sunny.');
  });
});
