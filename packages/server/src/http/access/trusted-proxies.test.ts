import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, type ServerOptions } from '../../create-server.ts';
import { rawRequest } from '../../testing/raw-request.ts';
import { testToken } from '../../testing/servers/test-server.ts';
import { TrustedProxies } from './trusted-proxies.ts';

const token = testToken('proxy');

async function serve(options: Partial<ServerOptions>) {
  const lines: string[] = [];
  const requestLog = { format: 'json', write: (line: string) => lines.push(line) } as const;
  const server = createServer({ tokens: [token], requestLog, ...options });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(() => server.close());
  const ask = async (path: string, headers: Readonly<Record<string, string>>) => {
    const { host, port } = new URL(url);
    const head = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}`);
    const lines = [`GET ${path} HTTP/1.1`, ...head, 'connection: close', '', ''];
    return (await rawRequest(Number(port), lines.join('\r\n'))).text;
  };
  const addresses = () => lines.map((line) => (JSON.parse(line) as { address: string }).address);
  return { ask, addresses };
}

/** The request of a page through a proxy that sends the host of its upstream server. */
const ofPage = {
  authorization: `Bearer ${token}`,
  origin: 'https://agents.example',
  'sec-fetch-site': 'same-origin',
  'x-forwarded-host': 'agents.example',
  'x-forwarded-for': '203.0.113.9',
};

test('22.5: behind a trusted proxy, the client and the host come from its headers', async () => {
  const { ask, addresses } = await serve({
    hosts: ['agents.example'],
    trustedProxies: ['loopback'],
  });
  expect(await ask('/tasks', ofPage)).toMatch(/^HTTP\/1.1 200/);
  expect(await ask('/tasks', { ...ofPage, 'x-forwarded-host': 'evil.example' })).toMatch(
    /^HTTP\/1.1 421/,
  );
  expect(addresses()[0]).toBe('203.0.113.9');
});

test('22.5: the same headers of another sender have no effect', async () => {
  const { ask, addresses } = await serve({
    hosts: ['agents.example'],
    trustedProxies: ['10.1.0.0/16'],
  });
  expect(await ask('/tasks', ofPage)).toMatch(/^HTTP\/1.1 403/);
  expect(addresses()).toEqual(['127.0.0.1']);
});

test('22.5: the address is the last one that is not a proxy, whatever the client sent', () => {
  const proxies = new TrustedProxies(['private', '198.51.100.7', '2001:db8::/32']);
  const read = (address: string, forwarded: string) =>
    proxies.read({ address, headers: { 'x-forwarded-for': forwarded } }).address;
  expect(read('10.0.0.1', '203.0.113.9, 10.0.0.2, 198.51.100.7:4711')).toBe('203.0.113.9');
  expect(read('::ffff:10.0.0.1', '[2001:db9::1]:80, 2001:db8::5')).toBe('2001:db9::1');
  expect(read('10.0.0.1', 'unknown')).toBe('10.0.0.1');
  expect(read('8.8.8.8', '203.0.113.9')).toBe('8.8.8.8');
  const invented = fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), { maxLength: 5 });
  fc.assert(
    fc.property(invented, (before) => {
      expect(read('10.0.0.1', [...before, '203.0.113.9'].join(','))).toBe('203.0.113.9');
    }),
  );
  for (const wrong of ['', 'public', '10.0.0.0/33', 'proxy.example'])
    expect(() => new TrustedProxies([wrong])).toThrow(/Cannot use these trusted proxies/);
});

test('22.5: the page and its files are served below a base path', async () => {
  const page = mkdtempSync(join(tmpdir(), 'millrace-page-'));
  onTestFinished(() => rmSync(page, { recursive: true, force: true }));
  const html = '<html><head><script src="./a.js"></script></head><a href="./b">./c</a></html>';
  writeFileSync(join(page, 'index.html'), html);
  writeFileSync(join(page, 'a.js'), 'let a = 1;');
  const { ask } = await serve({ page, basePath: '/agents' });
  for (const path of ['/agents', '/agents/', '/agents/app/tasks/a']) {
    const shown = await ask(path, {});
    expect(shown).toContain('<script src="/agents/a.js"></script>');
    expect(shown).toContain('<meta name="millrace-base" content="/agents" />');
    expect(shown).toContain('<a href="/agents/b">./c</a>');
  }
  expect(await ask('/agents/a.js', {})).toContain('let a = 1;');
  expect(await ask('/a.js', {})).toMatch(/^HTTP\/1.1 (?:401|404)/);
});
