import { setImmediate as nextTurn } from 'node:timers/promises';
import { InMemoryResponseCacheStore } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { childEnv } from '../../../core/src/testing/runs.ts';
import { call, McpConnections } from '../testing/mcp-connections.ts';

// A hostile MCP server answers a call with a result that costs far more work than its text suggests.

const connections = new McpConnections();
afterEach(() => connections.closeAll());

type Revision = 'modern' | 'legacy';
const revisions: readonly Revision[] = ['modern', 'legacy'];

interface Sent {
  readonly id?: number;
  readonly method: string;
}

/** Connects to a server of which `respond` returns the JSON text of each result. */
function connect(revision: Revision, respond: (method: string) => string | Promise<string>) {
  const fetch = async (_url: string | URL | Request, init?: RequestInit) => {
    if (init?.method !== 'POST') return new Response(null, { status: 405 });
    const { id, method } = JSON.parse(String(init.body)) as Sent;
    if (id === undefined) return new Response(null, { status: 202 });
    const result = await respondTo(method);
    if (result === undefined) return new Response(null, { status: 400 });
    const type = result.includes('"resultType"') ? '' : '"resultType":"complete",';
    const more = `${type}"ttlMs":0,"cacheScope":"private",`;
    const text = `{"jsonrpc":"2.0","id":${id},"result":${result.replace('{', revision === 'modern' ? `{${more}` : '{')}}`;
    return new Response(text, { headers: { 'content-type': 'application/json' } });
  };
  const capabilities = '"capabilities":{"tools":{},"resources":{},"prompts":{}}';
  const respondTo = (method: string) => {
    switch (method) {
      case 'server/discover':
        return revision === 'modern'
          ? `{"supportedVersions":["2026-07-28"],${capabilities}}`
          : undefined;
      case 'initialize':
        return `{"protocolVersion":"2025-06-18",${capabilities},"serverInfo":{"name":"x","version":"1"}}`;
      case 'tools/list':
        return '{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}';
      case 'prompts/list':
        return '{"prompts":[]}';
      default:
        return respond(method);
    }
  };
  return connections.connect({ name: 'test', http: { url: 'http://localhost/mcp', fetch } });
}

const list = (count: number, one: string) => `[${Array(count).fill(one).join(',')}]`;
const keys = (count: number) => `{${Array.from({ length: count }, (_, at) => `"k${at}":1`)}}`;

describe.each(revisions)('with a server of a %s revision,', (revision) => {
  test('18.1405: attack: a result has far too many parts', async () => {
    const parts = list(60_000, '{"type":"text","text":"a"}');
    const connected = await connect(revision, () => `{"content":${parts}}`);
    const { text } = await call(connected, 'go');
    expect(text.split('\n').length).toBe(1_001);
    expect(text).toMatch(/\[further parts left out: a result can have 1000 parts\]$/);
  });

  test('18.1405: attack: a result has far too many unreadable parts', async () => {
    const parts = list(200_000, '1');
    const connected = await connect(revision, () => `{"content":${parts}}`);
    const { text } = await call(connected, 'go');
    expect(text.split('left out').length).toBeLessThanOrEqual(1_002);
  });

  test.each([
    ['metadata', `{"content":[],"_meta":${keys(120_000)}}`],
    [
      'one part',
      `{"content":[{"type":"text","text":"a","annotations":{"audience":${list(120_000, '1')}}}]}`,
    ],
  ])('18.1405: attack: a result has far too many values in %s', async (_what, result) => {
    const connected = await connect(revision, () => result);
    expect(await call(connected, 'go')).toMatchObject({
      isError: true,
      text: expect.stringContaining('more than 100000 values'),
    });
  });

  test('18.1405: attack: a resource and a prompt have far too many parts', async () => {
    const contents = list(60_000, '{"uri":"a:b","text":"a"}');
    const messages = list(40_000, '{"role":"user","content":{"type":"text","text":"a"}}');
    const connected = await connect(revision, (method) =>
      method === 'prompts/get' ? `{"messages":${messages}}` : `{"contents":${contents}}`,
    );
    const { text } = await call(connected, 'read_resource', { uri: 'a:b' });
    expect(text.split('[resource').length).toBe(1_001);
    expect((await connected.getPrompt('a')).split('\n\n').length).toBeLessThanOrEqual(1_001);
  });

  test('18.1531: attack: a server asks this client to keep many large resources', async () => {
    using kept = vi.spyOn(InMemoryResponseCacheStore.prototype, 'set');
    const contents = `[{"uri":"a:b","mimeType":"text/html;profile=mcp-app","text":"${'a'.repeat(100_000)}"}]`;
    const connected = await connect(revision, () => `{"ttlMs":86400000,"contents":${contents}}`);
    for (let at = 0; at < 5; at++) await call(connected, 'read_resource', { uri: `a:${at}` });
    expect(kept.mock.calls.map(([{ method }]) => method)).not.toContain('resources/read');
  });

  test('18.1406: attack: eight long results at once leave turns for other work', async () => {
    const result = `{"content":${list(900, `{"type":"text","text":"${'a'.repeat(1_000)}"}`)}}`;
    let waiting = 0;
    const all = Promise.withResolvers<string>();
    const connected = await connect(revision, () => {
      if (++waiting === 8) all.resolve(result);
      return all.promise;
    });
    let turn = 0;
    let isOver = false;
    const turns = (async () => {
      for (; !isOver; turn++) await nextTurn();
    })();
    const ends = await Promise.all(
      Array.from({ length: 8 }, async () => {
        await call(connected, 'go');
        return turn;
      }),
    );
    isOver = true;
    await turns;
    expect(new Set(ends).size).toBe(8);
  });

  test('structured content can have many values', async () => {
    const value = `{"rows":${list(200_000, '1')}}`;
    const connected = await connect(revision, () => `{"content":[],"structuredContent":${value}}`);
    expect(await call(connected, 'go')).toMatchObject({
      isError: false,
      value: { rows: expect.anything() },
    });
  });
});

test('18.1406: long results of a process arrive in their order and completely', async () => {
  const program = `
    process.stdin.on('data', (text) => {
      for (const line of String(text).trim().split('\\n')) {
        const { id, method, params } = JSON.parse(line);
        const first = '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}';
        const list = '{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}';
        const long = () => '{"content":[{"type":"text","text":"' + 'a'.repeat(300000) + params?.arguments?.end + '"}]}';
        const result = method === 'initialize' ? first : method === 'tools/list' ? list : long();
        if (id !== undefined) process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":' + result + '}\\n');
      }
    });`;
  const stdio = { command: process.execPath, args: ['-e', program], env: childEnv() };
  const connected = await connections.connect({ name: 'test', stdio });
  const texts = await Promise.all(
    ['x', 'y', 'z'].map(async (end) => (await call(connected, 'go', { end })).text.slice(-2)),
  );
  expect(texts).toEqual(['ax', 'ay', 'az']);
});

test('18.1409: attack: a result asks far too many questions at once', async () => {
  const question =
    '{"method":"elicitation/create","params":{"mode":"form","message":"a","requestedSchema":{"type":"object","properties":{}}}}';
  const questions = Array.from({ length: 100 }, (_, at) => `"q${at}":${question}`);
  const connected = await connect(
    'modern',
    () => `{"resultType":"input_required","inputRequests":{${questions}}}`,
  );
  let count = 0;
  const ask = async () => {
    count++;
    return { action: 'decline' as const };
  };
  expect(await call(connected, 'go', {}, { ask: ask as never })).toMatchObject({
    isError: true,
    text: expect.stringContaining('too much at once'),
  });
  expect(count).toBe(0);
});
