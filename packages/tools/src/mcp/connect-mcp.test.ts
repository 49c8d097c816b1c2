import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { call, McpConnections, stdioServer, toolOf } from '../testing/mcp-connections.ts';
import { pixel, testTools } from '../testing/mcp-test-tools.ts';
import { connectMcp, type McpOptions, type McpServer, type McpTools } from './index.ts';

// These tests use a server in a child process, reached through standard input and output.

let folder: string;
const connections = new McpConnections();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-'));
});
afterEach(async () => {
  vi.useRealTimers();
  await connections.closeAll();
  rmSync(folder, { recursive: true });
});

/** One server for all tests that do not change it. */
let shared: Promise<McpTools> | undefined;
const plain = () => {
  shared ??= connectMcp(stdioServer());
  return shared;
};
afterAll(async () => (await shared)?.close());

const connect = (flags?: readonly string[], options?: McpOptions) =>
  connections.connect(stdioServer(flags), options);

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('tools', () => {
  test('are listed with their schemas, and with the instructions of the server', async () => {
    const server = await plain();
    expect(server.tools.map(({ name }) => name)).toEqual(
      Object.keys(testTools).map((name) => `test_${name}`),
    );
    expect(server.instructions).toBe('Be gentle.');
    expect(toolOf(server, 'echo')).toMatchObject({
      description: 'Says it again',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
      effects: 'external',
      afterCrash: 'fail',
      retries: 0,
      startsSession: false,
      maxOutputLength: 30_000,
    });
  });

  test('receive the trace context of a call', async () => {
    const server = await plain();
    const trace = { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, tracestate: 'a=1' };
    expect(JSON.parse((await call(server, 'meta', {}, { trace })).text)).toMatchObject(trace);
    expect((await call(server, 'meta')).text).not.toContain('trace');
  });

  test('are listed over all pages', async () => {
    const server = await connect(['--page=5']);
    expect(server.tools).toHaveLength(Object.keys(testTools).length);
  });

  test('are refused if their list does not end', async () => {
    await expect(connect(['--endless'])).rejects.toMatchObject({
      code: 'cannot_connect',
      message: expect.stringMatching(/MCP server test: .*pagination/),
    });
  });

  test('without a description get their title or name as description', async () => {
    const server = await plain();
    expect(toolOf(server, 'read').description).toBe('Read it');
    expect(toolOf(server, 'pid').description).toBe('Tool pid of MCP server test');
  });

  test('have descriptions of bounded length', async () => {
    const server = await connect([], { maxDescriptionLength: 8 });
    expect(toolOf(server, 'echo').description).toBe('Says it…');
  });

  test('get effects from annotations only if the server is trusted', async () => {
    const [wary, trusting] = await Promise.all([
      connect(),
      connect([], { trustAnnotations: true }),
    ]);
    const effects = (server: typeof wary) =>
      ['read', 'set', 'echo'].map((name) => {
        const { effects, afterCrash } = toolOf(server, name);
        return `${effects} ${afterCrash}`;
      });
    expect(effects(wary)).toEqual(['external fail', 'external fail', 'external fail']);
    expect(effects(trusting)).toEqual(['none repeat', 'external repeat', 'external fail']);
  });

  test('with unusual names get valid names, and are called by their own', async () => {
    const odd = ['a.b', 'a/b', 'ünï', 'with space', 'x'.repeat(100), `${'x'.repeat(100)}y`];
    const server = await connect([`--extra=${file('extra', odd.join('\n'))}`]);
    const names = server.tools.map(({ name }) => name).slice(-odd.length);
    expect(new Set(names).size).toBe(odd.length);
    for (const [at, name] of names.entries()) {
      expect(name).toMatch(/^test_[A-Za-z0-9_-]{1,59}$/);
      const { text } = await call(server, name.slice('test_'.length));
      expect(text).toContain(`no tool ${odd[at]}`);
    }
  });

  test('with the same name are one tool', async () => {
    const server = await connect([`--extra=${file('extra', 'echo\necho')}`]);
    expect(server.tools).toHaveLength(Object.keys(testTools).length);
  });

  test('beyond the limit are left out and reported', async () => {
    const extra = Array.from({ length: 1_000 }, (_, at) => `tool${at}`).join('\n');
    const problems: string[] = [];
    const onProblem = (problem: string) => problems.push(problem);
    const server = await connect([`--extra=${file('extra', extra)}`], { onProblem });
    expect(server.tools).toHaveLength(1_000);
    expect(problems).toEqual([
      'MCP server test: it has more than 1000 tools; only the first 1000 are used',
    ]);
  });

  test('with a schema that is too long are left out and reported', async () => {
    const problems: string[] = [];
    const onProblem = (problem: string) => problems.push(problem);
    const server = await connect([`--extra=${file('extra', 'verbose\nterse')}`], { onProblem });
    expect(server.tools.at(-1)?.name).toBe('test_terse');
    expect(server.tools).toHaveLength(Object.keys(testTools).length + 1);
    expect(problems).toEqual([
      'MCP server test: its tool verbose is left out: its schema is too long',
    ]);
  });

  test('are listed again after a change', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    const server = await connect([], {
      onChange: (tools) => resolve(tools.map(({ name }) => name)),
    });
    expect(await call(server, 'change')).toMatchObject({ text: 'changed' });
    expect(await promise).toContain('test_new');
    expect(toolOf(server, 'new').description).toBe('Tool new of MCP server test');
  });

  test('summarize a call in one line', async () => {
    const server = await plain();
    expect(toolOf(server, 'read').summarize({ path: 'x' })).toBe('test: Read it {"path":"x"}');
    expect(toolOf(server, 'read').summarize({ path: 'x'.repeat(999) })).toHaveLength(200);
  });
});

describe('a call', () => {
  test('returns the text of the tool', async () => {
    expect(await call(await plain(), 'echo', { text: 'hé\u2028llo' })).toEqual({
      text: 'hé\u2028llo',
      isError: false,
      updates: [],
    });
  });

  test.each([
    ['text', 'x'],
    ['a list', []],
    ['nothing', null],
  ])('with %s for its input is refused', async (_, input) => {
    expect(await call(await plain(), 'echo', input)).toMatchObject({
      isError: true,
      text: 'The arguments must be a JSON object',
    });
  });

  test('returns its structured result as a value, and as text if there is no other text', async () => {
    expect(await call(await plain(), 'add', { a: 1, b: 2 })).toMatchObject({
      text: '{"sum":3}',
      value: { sum: 3 },
      isError: false,
    });
  });

  test('that failed returns the error text of the tool', async () => {
    const server = await plain();
    expect(await call(server, 'fail')).toMatchObject({ text: 'no such row', isError: true });
    expect(await call(server, 'fail_mutely')).toMatchObject({
      text: 'The tool failed without a message.',
      isError: true,
    });
  });

  test('that the server refuses returns the message of the server', async () => {
    expect(await call(await plain(), 'throw', { words: 'bad luck' })).toMatchObject({
      text: 'throw of MCP server test failed: MCP error -32603: bad luck',
      isError: true,
    });
  });

  test('reports all its progress', async () => {
    const server = await plain();
    expect(await call(server, 'count', { to: 3 })).toMatchObject({
      text: 'counted',
      updates: ['step 1 (1/3)\n', 'step 2 (2/3)\n', 'step 3 (3/3)\n'],
    });
    expect(await call(server, 'count', { to: 2, silent: true })).toMatchObject({
      updates: ['1/2\n', '2/2\n'],
    });
  });

  test('with very much progress reports only some of it', async () => {
    const { updates } = await call(await plain(), 'count', { to: 2_048, silent: true });
    expect(updates).toHaveLength(128 + 4 * 64);
    expect(updates.at(-1)).toBe('2048/2048\n');
  });

  test('returns images and files as attachments, mentioned in the text', async () => {
    const { text, attachments } = await call(await plain(), 'everything');
    expect(text.split('\n')).toEqual([
      'first',
      '[image, image/gif, 42 bytes: attached]',
      '[audio, audio/wav, 3 bytes: attached]',
      '[resource note://a/b.txt]',
      'inline',
      '[report.pdf, application/pdf, 4 bytes: attached]',
      '[link to resource file:///x/y.csv: y, text/csv]',
      'last',
    ]);
    const bytes = (base64: string) => ({
      type: 'bytes',
      bytes: Uint8Array.from(Buffer.from(base64, 'base64')),
    });
    expect(attachments).toEqual([
      { kind: 'media', mimeType: 'image/gif', source: bytes(pixel) },
      { kind: 'media', mimeType: 'audio/wav', source: bytes('AAAA') },
      { kind: 'file', name: 'report.pdf', mimeType: 'application/pdf', source: bytes('JVBERg==') },
    ]);
  });

  test('describes unreadable content, and keeps the rest', async () => {
    expect(await call(await plain(), 'strange')).toEqual({
      text: 'known\n[content of kind "hologram" left out: this kind is not supported]\n[text left out: it cannot be read]\n[image left out: it cannot be read]',
      isError: false,
      updates: [],
    });
  });

  test('returns a limited number of attachments of limited size', async () => {
    const server = await connect([], { maxAttachmentBytes: 42 * 50 });
    const many = await call(server, 'pictures', { count: 40 });
    expect(many.attachments).toHaveLength(32);
    expect(many.text).toMatch(/: left out, too many attachments\]$/);
    const small = await connect([], { maxAttachmentBytes: 2 * 42 });
    const large = await call(small, 'pictures', { count: 3 });
    expect(large.attachments).toHaveLength(2);
    expect(large.text).toMatch(/left out, about 42 bytes exceed the limit\]$/);
  });

  test('clips a huge text', async () => {
    const { text } = await call(await plain(), 'huge', { length: 5 * 2 ** 20 });
    expect(text).toHaveLength(4 * 2 ** 20);
    expect(text.endsWith('x…')).toBe(true);
  });

  test('leaves out a huge value with a note', async () => {
    expect(await call(await plain(), 'huge_value', { length: 2 ** 20 })).toEqual({
      text: 'see\n[structured result left out: there is too much of it]',
      isError: false,
      updates: [],
    });
  });

  test('with a response that is too long ends the connection; the next call opens another', async () => {
    const server = await connect([], { maxMessageBytes: 100_000 });
    expect(await call(server, 'huge', { length: 99_000 })).toMatchObject({ isError: false });
    const { isError, text } = await call(server, 'huge', { length: 100_000 });
    expect(isError).toBe(true);
    expect(text).toContain('more than 100000 bytes (maxMessageBytes)');
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  });

  test('runs in parallel with others', async () => {
    const server = await plain();
    const texts = Array.from({ length: 20 }, (_, at) => `${at}`);
    const results = await Promise.all(texts.map((text) => call(server, 'echo', { text })));
    expect(results.map(({ text }) => text)).toEqual(texts);
  });

  test.each(['sampling/createMessage', 'roots/list'])(
    'gets an error for its request %s',
    async (method) => {
      const { text } = await call(await plain(), 'ask_back', { method });
      expect(text).toContain(`This client does not answer ${method}. Put what you need`);
    },
  );

  test('works if a server prints text among its messages', async () => {
    const server = await connect(['--chatty']);
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  });
});

test.each<[string, McpServer, McpOptions, string]>([
  ['no name', { name: '', stdio: { command: 'x' } }, {}, 'it has no name'],
  ['no command', { name: 'a', stdio: { command: '' } }, {}, 'its command is empty'],
  ['no way', { name: 'a' } as never, {}, 'it needs either stdio or http'],
  ['two ways', { ...stdioServer(), http: { url: 'http://x' } } as never, {}, 'it needs either'],
  ['a bad address', { name: 'a', http: { url: 'nowhere' } }, {}, 'its url is not valid'],
  ['a foreign address', { name: 'a', http: { url: 'ftp://x' } }, {}, 'http or https'],
  ['a password in the address', { name: 'a', http: { url: 'http://me:hush@x' } }, {}, 'headers'],
  ['a fraction', stdioServer(), { timeoutMs: 0.5 }, 'timeoutMs: 0.5 is not a whole number'],
  ['eternity', stdioServer(), { totalTimeoutMs: Infinity }, 'totalTimeoutMs'],
  ['less than nothing', stdioServer(), { graceMs: -1 }, 'graceMs'],
])('options with %s are refused', async (_, server, options, problem) => {
  const error = await connectMcp(server, options).then(
    () => expect.unreachable(),
    (thrown: Error) => thrown,
  );
  expect(error).toMatchObject({ code: 'bad_option', message: expect.stringContaining(problem) });
  expect(error.message).not.toContain('hush');
});
