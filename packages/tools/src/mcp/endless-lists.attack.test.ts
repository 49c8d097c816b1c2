import { afterEach, expect, test } from 'vitest';
import { childEnv } from '../../../core/src/testing/runs.ts';
import {
  type HostileServer,
  openStream,
  startHostileServer,
} from '../testing/mcp/hostile-server.ts';
import { call, McpConnections } from '../testing/mcp-connections.ts';

// A hostile MCP server sends lists without an end, and messages whose values need far more memory than their text.

const connections = new McpConnections();
const servers: HostileServer[] = [];
afterEach(async () => {
  await connections.closeAll();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const filler = `"${'x'.repeat(2 ** 20)}"`;
const tool = (name: string, more = '') =>
  `{"name":"${name}","inputSchema":{"type":"object"}${more}}`;

/** Starts a server whose lists have an endless number of pages with these texts. */
async function startEndless(lists: Readonly<Record<string, (page: number) => string>>) {
  let page = 0;
  const server = await startHostileServer(['tools', 'prompts', 'resources'], ({ method }) => {
    const content = lists[method]?.(++page);
    if (content !== undefined) return `{"nextCursor":"${page}",${content}}`;
    return method === 'tools/list' ? `{"tools":[${tool('good')}]}` : '{"prompts":[]}';
  });
  servers.push(server);
  return server;
}

const count = ({ methods }: HostileServer, method: string) =>
  methods.filter((one) => one === method).length;

test('18.1400: attack: a list of tools without an end has the limits of one message', async () => {
  const server = await startEndless({
    'tools/list': (page) => `"tools":[${tool(`t${page}`, `,"_meta":{"a":${filler}}`)}]`,
  });
  await expect(
    connections.connect({ name: 'test', http: { url: server.url } }),
  ).rejects.toMatchObject({ code: 'cannot_connect', message: expect.stringContaining('pages') });
  expect(count(server, 'tools/list')).toBeLessThan(20);
});

test('18.1400: attack: an endless list has these limits also if its pages have structured content', async () => {
  const server = await startEndless({
    'tools/list': (page) => `"tools":[${tool(`t${page}`)}],"structuredContent":{"a":${filler}}`,
  });
  await expect(
    connections.connect({ name: 'test', http: { url: server.url } }),
  ).rejects.toMatchObject({ code: 'cannot_connect', message: expect.stringContaining('pages') });
  expect(count(server, 'tools/list')).toBeLessThan(20);
});

test('18.1400: attack: an endless list of invalid tools has these limits too', async () => {
  const server = await startEndless({ 'tools/list': () => `"tools":[{"a":${filler}}]` });
  await expect(
    connections.connect({ name: 'test', http: { url: server.url } }),
  ).rejects.toMatchObject({ code: 'cannot_connect', message: expect.stringContaining('pages') });
  // The client reads a list with an invalid tool twice.
  expect(count(server, 'tools/list')).toBeLessThan(40);
});

test('18.1400: attack: endless lists of prompts and resources have these limits', async () => {
  const server = await startEndless({
    'prompts/list': (page) => `"prompts":[{"name":"p${page}","_meta":{"a":${filler}}}]`,
    'resources/list': (page) =>
      `"resources":[{"uri":"a:${page}","name":"a","_meta":{"a":${filler}}}]`,
    'resources/templates/list': (page) =>
      `"resourceTemplates":[{"uriTemplate":"a:${page}","name":"a","_meta":{"a":${filler}}}]`,
  });
  const problems: string[] = [];
  const connected = await connections.connect(
    { name: 'test', http: { url: server.url } },
    { onProblem: (problem) => problems.push(problem) },
  );
  expect(connected.prompts).toEqual([]);
  expect(problems).toEqual([expect.stringContaining('its prompts cannot be read')]);
  expect(await call(connected, 'list_resources')).toMatchObject({ isError: true });
  expect(count(server, 'prompts/list')).toBeLessThan(20);
  expect(count(server, 'resources/list')).toBeLessThan(20);
});

test('18.1400: attack: a list of many pages ends at the maximum number of tools', async () => {
  const names = (page: number) => Array.from({ length: 100 }, (_, at) => tool(`t${page}_${at}`));
  const server = await startEndless({ 'tools/list': (page) => `"tools":[${names(page)}]` });
  const problems: string[] = [];
  const { tools } = await connections.connect(
    { name: 'test', http: { url: server.url } },
    { onProblem: (problem) => problems.push(problem) },
  );
  expect(tools).toHaveLength(1000);
  expect(problems).toEqual([expect.stringContaining('more than 1000 tools')]);
  expect(count(server, 'tools/list')).toBe(11);
});

const many = `[${'[],'.repeat(400_000)}[]]`;
const manyValues = `{"tools":[{"name":"many","inputSchema":{"type":"object","x":${many}}}]}`;

test.for(['application/json', 'text/event-stream'])(
  '18.1401: attack: a message in %s whose values need far more memory than its text is refused',
  async (type) => {
    const server = await startHostileServer(['tools'], ({ id }, outgoing) => {
      if (type === 'application/json') return manyValues;
      // A comment with a quote must not hide the values.
      outgoing.writeHead(200, { 'content-type': type });
      outgoing.end(`: "\\\ndata: {"jsonrpc":"2.0","id":${id},"result":${manyValues}}\n\n`);
      return undefined;
    });
    servers.push(server);
    await expect(connections.connect({ name: 'test', http: { url: server.url } })).rejects.toThrow(
      /values/,
    );
  },
);

test('18.1401: attack: a process sends a message with too many values', async () => {
  const program = `
    process.stdin.on('data', (text) => {
      for (const line of String(text).trim().split('\\n')) {
        const { id, method } = JSON.parse(line);
        const first = '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}';
        const many = '{"tools":[{"name":"a","inputSchema":{"type":"object","x":[' + '[],'.repeat(400000) + '[]]}}]}';
        const result = method === 'initialize' ? first : many;
        if (id !== undefined) process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":' + result + '}\\n');
      }
    });`;
  const stdio = { command: process.execPath, args: ['-e', program], env: childEnv() };
  await expect(connections.connect({ name: 'test', stdio })).rejects.toThrow(/values/);
});

test('18.1401: values in strings do not count', async () => {
  const long = JSON.stringify(',["'.repeat(200_000));
  const server = await startHostileServer(['tools'], ({ method }) =>
    method === 'tools/list'
      ? `{"tools":[${tool('good')}]}`
      : `{"content":[{"type":"text","text":${long}}]}`,
  );
  servers.push(server);
  const connected = await connections.connect({ name: 'test', http: { url: server.url } });
  expect(await call(connected, 'good')).toMatchObject({ isError: false });
});

test.for(['an answer', 'an error'])(
  '18.1402: attack: a server sends events without an end as %s that the client reads at once',
  async (what) => {
    const { promise: end, resolve } = Promise.withResolvers<'refused' | 'read'>();
    const server = await startHostileServer(['tools'], async ({ method, id }, outgoing) => {
      const isError = what === 'an error';
      const flood = async () => {
        outgoing.once('close', () => resolve('refused'));
        const send = openStream(outgoing, isError ? 500 : 200);
        // Far more than one message can have.
        for (let round = 0; round < 64; round++) await send(filler);
        resolve('read');
      };
      if (method === (isError ? 'tools/list' : '')) await flood();
      else if (method === 'tools/list') {
        const send = openStream(outgoing);
        await send('{"jsonrpc":"2.0","id":"x","method":"ping"}');
        await end;
        await send(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[]}}`);
      } else outgoing.writeHead(405).end();
      return undefined;
    });
    servers.push(server);
    await connections.connect({ name: 'test', http: { url: server.url } }).catch(() => {});
    expect(await end).toBe('refused');
  },
);
