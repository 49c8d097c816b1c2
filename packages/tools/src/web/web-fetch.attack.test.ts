import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { runTool } from '../testing/tool-context.ts';
import { pageText } from './page-text.ts';
import { isPublicAddress, publicLookup } from './public-address.ts';
import { type WebFetchToolOptions, webFetchTool } from './web-fetch-tool.ts';

/** Starts a web server on this machine. Returns its URL. */
async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const fetchPage = (url: string, options: WebFetchToolOptions = { allowPrivate: true }) =>
  runTool(webFetchTool(options), { url });

describe('web_fetch', () => {
  test('returns a page as text, also if it is compressed', async () => {
    const html = '<title>Orders</title><p>Refund <b>17</b>';
    const url = await serve((request, response) => {
      const isBrotli = request.url === '/br';
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-encoding': isBrotli ? 'br' : 'gzip',
      });
      response.end(isBrotli ? brotliCompressSync(html) : gzipSync(html));
    });
    for (const path of ['/gz', '/br']) {
      const { text, isError } = await fetchPage(url + path);
      expect(text).toBe(`${url}${path}\nOrders\n\nRefund 17`);
      expect(isError).toBe(false);
    }
  });

  test('follows redirects on the same host, and names the target on another one', async () => {
    const url = await serve((request, response) => {
      const to = { '/a': '/b', '/far': 'https://docs.example/x', '/loop': '/loop' }[
        request.url ?? ''
      ];
      if (to === undefined) return void response.end('done');
      response.writeHead(302, { location: to }).end();
    });
    expect((await fetchPage(`${url}/a`)).text).toBe(`${url}/b\n\ndone`);
    const far = await fetchPage(`${url}/far`);
    expect(far.isError).toBe(true);
    expect(far.text).toContain('redirects to another host. Fetch https://docs.example/x instead');
    expect((await fetchPage(`${url}/loop`)).text).toContain('more than 5 times');
  });

  test('18.859: attack: many short links become many long addresses', async () => {
    const long = `/${'a'.repeat(1900)}/`;
    const url = await serve((request, response) => {
      if (request.url === '/far')
        return void response.writeHead(302, { location: `/${'a'.repeat(14_000)}` }).end();
      if (request.url !== long) return void response.writeHead(302, { location: long }).end();
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<a href=x>a</a>'.repeat(300_000));
    });
    const { value } = await fetchPage(`${url}/`);
    expect(value).toMatchObject({ status: 200 });
    expect(pageText('<a href=x>a</a>'.repeat(300_000), url + long).length).toBeLessThan(1_100_000);
    expect((await fetchPage(`${url}/far`)).text).toContain('a URL of more than 2000 characters');
  });

  test('attack: a small compressed page that becomes very large is cut', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, 'a'));
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
      response.end(bomb);
    });
    const { text } = await fetchPage(url, { allowPrivate: true, maxBytes: 1000 });
    expect(text).toContain('has more than 1000 bytes');
    expect(text.length).toBeLessThan(1200);
  });

  test('refuses what is not text, and reports the status', async () => {
    const url = await serve((request, response) => {
      const isMissing = request.url === '/missing';
      response.writeHead(isMissing ? 404 : 200, {
        'content-type': isMissing ? 'text/plain' : 'image/png',
      });
      response.end('x');
    });
    expect(await fetchPage(url)).toMatchObject({
      isError: true,
      text: expect.stringContaining('image/png'),
    });
    expect(await fetchPage(`${url}/missing`)).toMatchObject({
      ...{ isError: true, text: expect.stringMatching(/^Status 404\n/) },
    });
  });

  test.each(['ftp://a.example/', 'file:///etc/passwd', 'https://a:b@c.example/', 'nothing'])(
    'attack: refuses %s',
    async (url) => {
      expect(await fetchPage(url)).toMatchObject({
        isError: true,
        text: expect.stringMatching(/^Cannot fetch/),
      });
    },
  );

  test.each([
    ...['127.0.0.1', 'localhost', '[::1]', '10.0.0.1', '169.254.169.254', '2130706433', '0x7f.1'],
    ...['[::ffff:127.0.0.1]', '[fd00::1]', '[64:ff9b::a9fe:a9fe]', '0', '192.168.1.1', '[fe80::1]'],
  ])('attack: the model fetches from %s, which is not public', async (host) => {
    let isReached = false;
    const url = await serve((_request, response) => {
      isReached = true;
      response.end('secret');
    });
    const { port } = new URL(url);
    const { text, isError } = await fetchPage(`http://${host}:${port}/`, {});
    expect(isError).toBe(true);
    expect(text).toContain('not on the public internet');
    expect(isReached).toBe(false);
  });
});

test.each(['8.8.8.8', '2606:4700::1111', '93.184.216.34'])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test('attack: a name with one private address among public ones is refused', async () => {
  const addresses = ['8.8.8.8', '10.0.0.1'].map((address) => ({ address, family: 4 }));
  const lookup = publicLookup((_name, done) => done(null, addresses));
  const { promise, resolve } = Promise.withResolvers<Error | null>();
  lookup('mixed.example', { all: true }, (error) => resolve(error));
  expect((await promise)?.message).toContain('not on the public internet');
});

describe('the policy decides by host', () => {
  const decide = (rules: Parameters<typeof permissionPolicy>[0]['rules'], url: unknown) =>
    permissionPolicy({ root: '/work', rules }).decide({ tool: 'web_fetch', input: { url } })
      .decision;
  const docs = { tool: 'web_fetch', host: 'docs.example', decision: 'allow' } as const;

  test.each([
    ['https://docs.example/a', 'allow'],
    ['https://DOCS.example./a', 'allow'],
    ['https://docs.example:8443/a', 'allow'],
    ['https://evil.example/?docs.example', 'ask'],
    ['https://docs.example@evil.example/', 'ask'],
    ['https://docs.example.evil.example/', 'ask'],
    ['https://xdocs.example/', 'ask'],
    ['ftp://docs.example/', 'ask'],
    [7, 'ask'],
  ])('%s: %s', (url, decision) => expect(decide([docs], url)).toBe(decision));

  test('rules for all names below a host, and rules that deny', () => {
    const below = { tool: 'web_fetch', host: '*.example', decision: 'allow' } as const;
    const never = { host: 'evil.example', decision: 'deny' } as const;
    expect(decide([below], 'https://a.b.example/')).toBe('allow');
    expect(decide([below], 'https://example/')).toBe('ask');
    expect(decide([below, never], 'https://evil.example/')).toBe('deny');
  });

  test('attack: a rule that allows all tools sends data to any host', () => {
    const url = 'https://evil.example/?key=1';
    expect(decide([{ decision: 'allow' }], url)).toBe('ask');
    expect(decide([{ tool: '*', decision: 'allow', yields: true }], url)).toBe('ask');
    expect(decide([{ tool: 'web_fetch', decision: 'allow' }], url)).toBe('allow');
    expect(decide([{ decision: 'deny' }], url)).toBe('deny');
  });

  test('a standing approval covers the host', () => {
    const policy = permissionPolicy({ root: '/work' });
    const call = { tool: 'web_fetch', input: { url: 'https://docs.example/a?b=c' } };
    expect(policy.ruleFor(call, 'allow')).toEqual(docs);
  });

  test.each([
    ['b\u00fccher.example', 'https://B\u00dcCHER.example/?q=1'],
    ['b\u00fccher.example', 'https://xn--bcher-kva.example.'],
    ['*.b\u00fccher.example', 'https://a.xn--bcher-kva.example'],
    ['fa\u00df.example', 'https://fa\u00df.example'],
    ['127.1', 'http://127.0.0.1/'],
    ['0x7f.0.0.1', 'http://2130706433/'],
    ['\uff44ocs.example', 'https://docs.example'],
  ])('18.776: attack: a rule that denies the host %j does not stop %s', (host, url) => {
    const never = { ...docs, host, decision: 'deny' } as const;
    expect(decide([{ tool: 'web_fetch', decision: 'allow' }, never], url)).toBe('deny');
  });

  test.each(['https://docs.example', 'a b', '', '*', 'a/b', '*.*', '.a.b', 'a..b', '*.127.1'])(
    'the host %j is refused',
    (host) => {
      expect(() => decide([{ ...docs, host }], 'https://a.example/')).toThrow('is not a host name');
    },
  );
});

test.each([' ', '\t', '\u00a0', '\n ', ' \r'])(
  '18.162: attack: a page of the repeated blank %j is read in linear time',
  (blank) => {
    const html = `<pre>a${blank.repeat(400_000)}x</pre>`;
    expect(pageText(html, 'https://a.example/')).toContain('x');
  },
);

test('18.162: blanks at the end of a line are removed', () => {
  const text = pageText('<pre>a  \t\nb \t c\n</pre>', 'https://a.example/');
  expect(text).toContain('a\nb \t c');
});
