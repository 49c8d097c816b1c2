import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { call, McpConnections, stdioServer, toolOf } from '../testing/mcp-connections.ts';
import { pixel, testTools } from '../testing/mcp-test-tools.ts';
import { connectMcp, type McpOptions, type McpServer, type McpTools } from './index.ts';

// With a server in a process of its own, over its standard input and output.

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
      replay: 'never',
      retries: 0,
      startsSession: false,
      maxOutputLength: 30_000,
    });
  });

  test('are told which trace a call is part of, where it is part of one', async () => {
    const server = await plain();
    const trace = { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, tracestate: 'a=1' };
    expect(JSON.parse((await call(server, 'meta', {}, { trace })).text)).toMatchObject(trace);
    expect((await call(server, 'meta')).text).not.toContain('trace');
  });

  test('are listed over as many pages as there are', async () => {
    const server = await connect(['--page=5']);
    expect(server.tools).toHaveLength(Object.keys(testTools).length);
  });

  test('that are listed without end are refused', async () => {
    await expect(connect(['--endless'])).rejects.toMatchObject({
      code: 'cannot_connect',
      message: expect.stringMatching(/MCP server test: .*pagination/),
    });
  });

  test('are described by a title or a name where they are not by themselves', async () => {
    const server = await plain();
    expect(toolOf(server, 'read').description).toBe('Read it');
    expect(toolOf(server, 'pid').description).toBe('Tool pid of MCP server test');
  });

  test('have descriptions of bounded length', async () => {
    const server = await connect([], { maxDescriptionLength: 8 });
    expect(toolOf(server, 'echo').description).toBe('Says it…');
  });

  test('are taken at their word only where they are trusted', async () => {
    const [wary, trusting] = await Promise.all([
      connect(),
      connect([], { trustAnnotations: true }),
    ]);
    const effects = (server: typeof wary) =>
      ['read', 'set', 'echo'].map((name) => {
        const { effects, replay } = toolOf(server, name);
        return `${effects} ${replay}`;
      });
    expect(effects(wary)).toEqual(['external never', 'external never', 'external never']);
    expect(effects(trusting)).toEqual(['none safe', 'external safe', 'external never']);
  });

  test('of odd names get names that all providers take, and are called by their own', async () => {
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

  test('of one name twice are one', async () => {
    const server = await connect([`--extra=${file('extra', 'echo\necho')}`]);
    expect(server.tools).toHaveLength(Object.keys(testTools).length);
  });

  test('of which there are too many are cut, which is said', async () => {
    const extra = Array.from({ length: 1_000 }, (_, at) => `tool${at}`).join('\n');
    const problems: string[] = [];
    const onProblem = (problem: string) => problems.push(problem);
    const server = await connect([`--extra=${file('extra', extra)}`], { onProblem });
    expect(server.tools).toHaveLength(1_000);
    expect(problems).toEqual([
      `MCP server test: it has ${1_000 + Object.keys(testTools).length} tools; the first 1000 are taken`,
    ]);
  });

  test('whose schema is too long are left out, which is said', async () => {
    const problems: string[] = [];
    const onProblem = (problem: string) => problems.push(problem);
    const server = await connect([`--extra=${file('extra', 'verbose\nterse')}`], { onProblem });
    expect(server.tools.at(-1)?.name).toBe('test_terse');
    expect(server.tools).toHaveLength(Object.keys(testTools).length + 1);
    expect(problems).toEqual([
      'MCP server test: its tool verbose is left out: its schema is too long',
    ]);
  });

  test('that change are listed again', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    const server = await connect([], {
      onChange: (tools) => resolve(tools.map(({ name }) => name)),
    });
    expect(await call(server, 'change')).toMatchObject({ text: 'changed' });
    expect(await promise).toContain('test_new');
    expect(toolOf(server, 'new').description).toBe('Tool new of MCP server test');
  });

  test('summarize a call in a line', async () => {
    const server = await plain();
    expect(toolOf(server, 'read').summarize({ path: 'x' })).toBe('test: Read it {"path":"x"}');
    expect(toolOf(server, 'read').summarize({ path: 'x'.repeat(999) })).toHaveLength(200);
  });
});

describe('a call', () => {
  test('gives the text of the tool', async () => {
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

  test('gives its structured result as a value, and as text where there is no other', async () => {
    expect(await call(await plain(), 'add', { a: 1, b: 2 })).toMatchObject({
      text: '{"sum":3}',
      value: { sum: 3 },
      isError: false,
    });
  });

  test('that failed keeps its words', async () => {
    const server = await plain();
    expect(await call(server, 'fail')).toMatchObject({ text: 'no such row', isError: true });
    expect(await call(server, 'fail_mutely')).toMatchObject({
      text: 'The tool failed and did not say why.',
      isError: true,
    });
  });

  test('that the server refuses says what the server says', async () => {
    expect(await call(await plain(), 'throw', { words: 'bad luck' })).toMatchObject({
      text: 'throw of MCP server test failed: MCP error -32603: bad luck',
      isError: true,
    });
  });

  test('tells its progress as it comes, to the last of it', async () => {
    const server = await plain();
    expect(await call(server, 'count', { to: 3 })).toMatchObject({
      text: 'counted',
      updates: ['step 1 (1/3)\n', 'step 2 (2/3)\n', 'step 3 (3/3)\n'],
    });
    expect(await call(server, 'count', { to: 2, silent: true })).toMatchObject({
      updates: ['1/2\n', '2/2\n'],
    });
  });

  test('that floods us with progress is told less and less of', async () => {
    const { updates } = await call(await plain(), 'count', { to: 2_048, silent: true });
    expect(updates).toHaveLength(128 + 4 * 64);
    expect(updates.at(-1)).toBe('2048/2048\n');
  });

  test('gives pictures and files beside its text, each in its place', async () => {
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

  test('says in words what it cannot read, and keeps the rest', async () => {
    expect(await call(await plain(), 'strange')).toEqual({
      text: 'known\n[content of kind "hologram" left out: it is not known here]\n[text left out: it cannot be read]\n[image left out: it cannot be read]',
      isError: false,
      updates: [],
    });
  });

  test('gives a bounded number of attachments of bounded size', async () => {
    const server = await connect([], { maxAttachmentBytes: 42 * 50 });
    const many = await call(server, 'pictures', { count: 40 });
    expect(many.attachments).toHaveLength(32);
    expect(many.text).toMatch(/: one too many, left out\]$/);
    const small = await connect([], { maxAttachmentBytes: 2 * 42 });
    const large = await call(small, 'pictures', { count: 3 });
    expect(large.attachments).toHaveLength(2);
    expect(large.text).toMatch(/about 42 bytes are too many, left out\]$/);
  });

  test('gives a huge text clipped', async () => {
    const { text } = await call(await plain(), 'huge', { length: 5 * 2 ** 20 });
    expect(text).toHaveLength(4 * 2 ** 20);
    expect(text.endsWith('x…')).toBe(true);
  });

  test('leaves a huge value out and says so', async () => {
    expect(await call(await plain(), 'huge_value', { length: 2 ** 20 })).toEqual({
      text: 'see\n[structured result left out: there is too much of it]',
      isError: false,
      updates: [],
    });
  });

  test('whose answer is too long to be read ends the connection; the next makes another', async () => {
    const server = await connect([], { maxMessageBytes: 100_000 });
    expect(await call(server, 'huge', { length: 99_000 })).toMatchObject({ isError: false });
    const { isError, text } = await call(server, 'huge', { length: 100_000 });
    expect(isError).toBe(true);
    expect(text).toContain('more than 100000 bytes (maxMessageBytes)');
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  });

  test('runs beside others', async () => {
    const server = await plain();
    const texts = Array.from({ length: 20 }, (_, at) => `${at}`);
    const results = await Promise.all(texts.map((text) => call(server, 'echo', { text })));
    expect(results.map(({ text }) => text)).toEqual(texts);
  });

  test.each(['elicitation/create', 'sampling/createMessage', 'roots/list'])(
    'is told politely that nobody answers its %s',
    async (method) => {
      const { text } = await call(await plain(), 'ask_back', { method });
      expect(text).toContain(`This client does not answer ${method}. Put what you need`);
    },
  );

  test('is not troubled by what a server prints among its messages', async () => {
    const server = await connect(['--chatty']);
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  });
});

test.each<[string, McpServer, McpOptions, string]>([
  ['no name', { name: '', stdio: { command: 'x' } }, {}, 'it has no name'],
  ['no command', { name: 'a', stdio: { command: '' } }, {}, 'its command is empty'],
  ['no way', { name: 'a' } as never, {}, 'it has either stdio or http'],
  ['two ways', { ...stdioServer(), http: { url: 'http://x' } } as never, {}, 'it has either'],
  ['a bad address', { name: 'a', http: { url: 'nowhere' } }, {}, 'its url is not one'],
  ['a foreign address', { name: 'a', http: { url: 'ftp://x' } }, {}, 'http or https'],
  ['a password in the address', { name: 'a', http: { url: 'http://me:hush@x' } }, {}, 'headers'],
  ['a fraction', stdioServer(), { timeoutMs: 0.5 }, 'timeoutMs: 0.5 is no whole number'],
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
