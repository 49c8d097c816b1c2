import { expect, test } from 'vitest';
import { connectMcp } from '../connect-mcp.ts';
import { createRedactor } from './error-text.ts';

// Some services put the key of the user into the path of the address of an MCP server. Errors quote the address, and the
// log, the model and bug reports get the errors.

const redactFor = (url: string) => createRedactor({ name: 'a', http: { url } });

test.each([
  '/api/mcp/s/NzA2ZmQ0YjQtZGE0Mi00/mcp',
  '/mcp/3f2504e0-4f89-11d3-9a0c-0305e82c3301',
  '/sk-abcdefghijklmnopqrstu/sse',
  '/u/ghp_abcdefghijklmnopqrst0123',
  '/token/hunter2hunter/mcp',
  '/api-key/correcthorse/',
  '/v1/qwertyuiopasdfghjklzxcvbnm/mcp',
  '/mcp;key=abcd1234efgh5678',
  '/a%2Bb%3Dc1d2e3f4g5h6i7j8/mcp',
])('18.1520: attack: an error shows the key in the path %s of a server', (path) => {
  const url = `http://mcp.example${path}`;
  const shown = redactFor(url)(`Cannot POST ${url}: no route ${path}, ${decodeURIComponent(path)}`);
  expect(shown).toContain('[secret]');
  const key = path.split(/[/;=]/).reduce((a, b) => (b.length > a.length ? b : a));
  for (const form of [key, decodeURIComponent(key), encodeURIComponent(decodeURIComponent(key))])
    expect(shown).not.toContain(form);
});

test('18.1520: attack: an error shows the password in the address of a server', () => {
  const shown = redactFor('http://ana:open%20sesame@mcp.example/mcp')(
    'URL with credentials: http://ana:open%20sesame@mcp.example/mcp (open sesame)',
  );
  expect(shown).toBe('URL with credentials: http://ana:[secret]@mcp.example/mcp ([secret])');
});

test.each(['/mcp', '/api/v2/mcp/sse', '/servers/weather-forecast/streamable-http', '/key/mcp'])(
  '18.1520: the words of the path %s stay',
  (path) => {
    const text = `Cannot POST http://mcp.example${path}`;
    expect(redactFor(`http://mcp.example${path}`)(text)).toBe(text);
  },
);

test('18.1520: attack: the error of a connection shows the key in the path', async () => {
  const key = '3f2504e04f8911d39a0c0305e82c3301';
  const address = `http://127.0.0.1:9/mcp/${key}`;
  const fetch = async () => new Response(`no route ${address}`, { status: 404 });
  const http = { url: address, fetch };
  const error: Error = await connectMcp({ name: 'test', http }).then(
    () => expect.unreachable(),
    (thrown) => thrown,
  );
  expect(error.message).toContain('/mcp/[secret]');
  expect(`${error.message} ${error.stack}`).not.toContain(key);
});
