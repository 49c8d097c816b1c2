import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, type ServerOptions } from '../create-server.ts';
import { rawRequest } from '../testing/raw-request.ts';
import { createToken } from './access/token-store.ts';

const html = '<!doctype html><title>page</title>';
const frames = ['document.html', 'diagram.html'];

async function pageFolder(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-page-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'dist', 'assets'), { recursive: true });
  await writeFile(join(folder, 'dist', 'index.html'), html);
  await writeFile(join(folder, 'dist', 'icon.svg'), '<svg/>');
  await mkdir(join(folder, 'dist', 'frames'));
  for (const name of [...frames, 'picture.html', 'app.html'])
    await writeFile(join(folder, 'dist', 'frames', name), html);
  await writeFile(join(folder, 'dist', 'assets', 'index-a1b2c3d4.js'), 'let a = 1;\n'.repeat(200));
  await writeFile(join(folder, 'dist', 'server.key'), 'secret that no page contains');
  await writeFile(join(folder, 'outside.js'), 'secret');
  return join(folder, 'dist');
}

async function startServer(options: Partial<ServerOptions> = {}): Promise<string> {
  const server = createServer({ tokens: 'none', page: await pageFolder(), ...options });
  onTestFinished(() => server.close());
  return (await server.listen({ port: 0 })).url;
}

test('the page is served at the root and below /app/', async () => {
  const url = await startServer();
  for (const path of ['/', '/app/tasks/abc', '/app/tasks/abc?at=12', '/app/overview']) {
    const response = await fetch(url + path);
    expect([path, response.status, await response.text()]).toEqual([path, 200, html]);
    expect(response.headers.get('cache-control')).toBe('no-cache');
  }
});

test('the content security policy allows only scripts of the server', async () => {
  const { headers } = await fetch(await startServer());
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("style-src 'self';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

test('only the frame for pictures can load from other servers, and only pictures', async () => {
  const { headers } = await fetch(`${await startServer()}/frames/picture.html`);
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(/^sandbox allow-scripts; default-src 'none';/);
  expect(policy.match(/[\w-]+ https:[^;]*/g)).toEqual(['img-src https:']);
  expect(policy).not.toMatch(/connect-src|frame-src|allow-same-origin/);
});

test.each(frames)(
  'the frame %s has its own origin and no network, and only the page can show it',
  async (name) => {
    const { headers } = await fetch(`${await startServer()}/frames/${name}`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^sandbox allow-scripts; default-src 'none';/);
    expect(policy).toContain("frame-ancestors 'self'");
    expect(policy).not.toMatch(/connect-src|frame-src|allow-same-origin|https?:/);
  },
);

test('the frame for apps connects only to the origins in its query', async () => {
  const url = `${await startServer()}/frames/app.html`;
  const policyOf = async (query: string) =>
    (await fetch(url + query)).headers.get('content-security-policy') ?? '';
  const closed = await policyOf('');
  expect(closed).toMatch(/^sandbox allow-scripts allow-forms; default-src 'none';/);
  expect(closed).not.toMatch(
    /connect-src|frame-src|allow-same-origin|allow-top|allow-popups|https?:/,
  );
  const open = await policyOf('?connect=https://api.example&resource=https://*.cdn.example');
  expect(open.match(/[\w-]+ [^;]*https:[^;]*/g)?.map((one) => one.split(' ')[0])).toEqual([
    ...['style-src', 'img-src', 'media-src', 'font-src', 'connect-src', 'form-action'],
  ]);
  expect(open).toContain(' connect-src https://api.example;');
});

test.each([
  "https://api.example; script-src 'unsafe-eval'",
  "https://api.example 'self'",
  'https://api.example,https://b.example',
  ...['*', 'https://*', 'http://api.example', 'data:', 'https:', ' ', 'https://a.example\nx'],
])('18.470: attack: a query adds a directive to the policy of an app: %s', async (given) => {
  const url = `${await startServer()}/frames/app.html`;
  for (const name of ['connect', 'resource']) {
    const { status } = await fetch(`${url}?${name}=${encodeURIComponent(given)}`);
    expect(status).toBe(422);
  }
});

test('files with a content hash in their name are cached forever', async () => {
  const url = await startServer();
  const hashed = await fetch(`${url}/assets/index-a1b2c3d4.js`);
  expect(hashed.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  expect(hashed.headers.get('cache-control')).toContain('immutable');
  expect((await fetch(`${url}/icon.svg`)).headers.get('cache-control')).toBe('no-cache');
});

test('a client with the current file gets 304', async () => {
  const url = await startServer();
  const etag = (await fetch(url)).headers.get('etag') ?? '';
  const again = await fetch(url, { headers: { 'if-none-match': etag } });
  expect([again.status, await again.text()]).toEqual([304, '']);
});

test('files are compressed for clients that accept it', async () => {
  const url = new URL(await startServer());
  const path = '/assets/index-a1b2c3d4.js';
  const plain = await (await fetch(new URL(path, url))).text();
  const response = await fetch(new URL(path, url), { headers: { 'accept-encoding': 'gzip' } });
  expect(response.headers.get('content-encoding')).toBe('gzip');
  expect(Number(response.headers.get('content-length'))).toBeLessThan(plain.length);
  expect(await response.text()).toBe(plain);
});

test.each([
  ['gzip;q=0', null],
  ['br;q=0, gzip', 'gzip'],
  ['gzip, br', 'br'],
  ['gzip;q=0, br ; q=0.0', null],
  ['x-gzip', null],
])('22.1: a file for accept-encoding "%s" has the encoding %s', async (accepted, encoding) => {
  const url = new URL('/assets/index-a1b2c3d4.js', await startServer());
  const response = await fetch(url, { headers: { 'accept-encoding': accepted } });
  expect(response.headers.get('content-encoding')).toBe(encoding);
});

test('no path leads out of the folder or to files of other types', async () => {
  const url = new URL(await startServer());
  for (const path of [
    '/../outside.js',
    '/assets/../../outside.js',
    '/assets/..%2f..%2foutside.js',
    '/..%2foutside.js',
    '/assets/%2e%2e/%2e%2e/outside.js',
    '/assets\\..\\..\\outside.js',
    '//outside.js',
    '/server.key',
    '/index.html%00.js',
  ]) {
    const bytes = `GET ${path} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: close\r\n\r\n`;
    const { text, status } = await rawRequest(Number(url.port), bytes);
    expect([path, text.includes('secret'), status >= 400]).toEqual([path, false, true]);
  }
});

test('the page is public, and the API needs a token', async () => {
  const url = await startServer({ tokens: [createToken()] });
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(`${url}/tasks`)).status).toBe(401);
});

test('a folder without a page is rejected at once', () => {
  const make = () =>
    createServer({ tokens: 'none', page: join(tmpdir(), 'millrace-no-such-folder') });
  expect(make).toThrow('it contains no index.html');
});

test.each([
  ['none', 'own-link'],
  ['same-origin', 'own-link'],
  ['same-site', 'other-link'],
  ['cross-site', 'other-link'],
  ['none, none', 'other-link'],
  [undefined, 'other-link'],
])(
  '18.1077: attack: the page does not learn that the site %s opened it',
  async (site, reported) => {
    const url = await startServer();
    const sent: Record<string, string> = site === undefined ? {} : { 'sec-fetch-site': site };
    const headersOf = async (path: string, more = {}) => {
      const lines = Object.entries({ ...sent, ...more }).map(
        ([name, value]) => `${name}: ${value}`,
      );
      const head = [`GET ${path} HTTP/1.1`, `host: ${new URL(url).host}`, 'connection: close'];
      const bytes = [...head, ...lines, '', ''].join('\r\n');
      return (await rawRequest(Number(new URL(url).port), bytes)).text;
    };
    const etag = (await fetch(url)).headers.get('etag') ?? '';
    for (const path of ['/', '/app/tasks/t'])
      for (const more of [{}, { 'if-none-match': etag }]) {
        const reply = await headersOf(path, more);
        expect(reply).toContain(`server-timing: ${reported}\r\n`);
        expect(reply).toContain('vary: accept-encoding, sec-fetch-site');
      }
  },
);

test('22.12: HEAD returns the headers of the page and of health checks without a token', async () => {
  const url = await startServer({ tokens: [createToken()] });
  for (const path of ['/', '/app/overview', '/assets/index-a1b2c3d4.js', '/healthz']) {
    const got = await fetch(url + path);
    const length = (await got.text()).length;
    const head = await fetch(url + path, { method: 'HEAD' });
    expect([path, head.status, await head.text()]).toEqual([path, 200, '']);
    expect(head.headers.get('content-type')).toBe(got.headers.get('content-type'));
    expect(length).toBeGreaterThan(0);
  }
  expect((await fetch(`${url}/tasks`, { method: 'HEAD' })).status).toBe(401);
});
