import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { call, McpConnections, stdioServer, toolOf } from '../../testing/mcp-connections.ts';
import { isGone } from '../../testing/processes.ts';
import type { McpOptions, McpTools } from '../index.ts';

// Processes that are stopped, killed, slow or deaf.

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

const connect = (flags?: readonly string[], options?: McpOptions) =>
  connections.connect(stdioServer(flags), options);
const path = (name: string) => join(folder, name);
const linesOf = (name: string) => readFileSync(path(name), 'utf8').trim().split('\n');
const pidOf = async (server: McpTools) => Number((await call(server, 'pid')).text);
const untilGone = (pid: number) =>
  vi.waitFor(() => expect(isGone(pid)).toBe(true), { timeout: 60_000 });
/** Kills a child of ours and waits until we know. Between the two a call may be sent to nobody. */
const kill = async (pid: number) => {
  process.kill(pid, 'SIGKILL');
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: 60_000 });
};
const untilNoted = (word: string) =>
  vi.waitFor(() => expect(linesOf('notes')).toContain(word), { timeout: 60_000 });

describe('an abort', () => {
  test('ends a call at once, and the server hears of it', async () => {
    const server = await connect([`--notes=${path('notes')}`]);
    const abort = new AbortController();
    const { thrown, updates } = await call(
      server,
      'wait',
      {},
      {
        signal: abort.signal,
        update: () => abort.abort(new Error('stopped')),
      },
    );
    expect(thrown).toBe(abort.signal.reason);
    expect(updates).toEqual(['waiting\n']);
    await untilNoted('cancelled');
  });

  test('leaves the other calls alone', async () => {
    const server = await connect();
    const abort = new AbortController();
    const other = call(server, 'count', { to: 50 });
    await call(server, 'wait', {}, { signal: abort.signal, update: () => abort.abort() });
    expect(await other).toMatchObject({ text: 'counted' });
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  });

  test('before a call means that nothing is called', async () => {
    const server = await connect([`--notes=${path('notes')}`]);
    const { thrown } = await call(server, 'wait', {}, { signal: AbortSignal.abort('over') });
    expect(thrown).toBe('over');
    await call(server, 'echo');
    expect(() => linesOf('notes')).toThrow('ENOENT');
  });

  test('while the server starts again is not waited for, and the start goes on for others', async () => {
    const server = await connect();
    const pid = await pidOf(server);
    await kill(pid);
    const abort = new AbortController();
    const aborted = call(server, 'echo', {}, { signal: abort.signal });
    const other = call(server, 'echo', { text: 'hi' });
    abort.abort('not needed');
    expect((await aborted).thrown).toBe('not needed');
    expect(await other).toMatchObject({ text: 'hi' });
  });
});

describe('a time-out', () => {
  test('ends a call that is silent, and the server hears of it', async () => {
    const server = await connect([`--notes=${path('notes')}`], { timeoutMs: 50 });
    expect(await call(server, 'wait')).toMatchObject({
      isError: true,
      text: expect.stringMatching(/wait of MCP server test gave no result in time \(50 ms/),
    });
    await untilNoted('cancelled');
  });

  test('begins anew with each sign of life', async () => {
    const server = await connect([], { timeoutMs: 1_000 });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let count = 0;
    const update = () => {
      count++;
      vi.advanceTimersByTime(count < 5 ? 900 : 1_000);
    };
    expect(await call(server, 'drip', {}, { update })).toMatchObject({
      isError: true,
      text: expect.stringContaining('1000 ms without a sign of life'),
      updates: { length: 5 },
    });
  });

  test('in all ends even a lively call, and the server hears of it', async () => {
    const server = await connect([`--notes=${path('notes')}`], { totalTimeoutMs: 50 });
    expect(await call(server, 'drip')).toMatchObject({
      isError: true,
      text: expect.stringContaining('50 ms in all'),
    });
    await untilNoted('cancelled');
  });

  test('is over before the one of the loop', async () => {
    const server = await connect([], { totalTimeoutMs: 7_000 });
    expect(toolOf(server, 'echo').timeoutMs).toBe(12_000);
  });
});

describe('a server that dies', () => {
  test('in a call gives an error with its last words, and is started again with the next', async () => {
    const server = await connect();
    const before = await pidOf(server);
    const { text, isError } = await call(server, 'die', {
      words: 'out of \u001b[31mmemory\u001b[0m',
    });
    expect(isError).toBe(true);
    expect(text).toBe(
      'die of MCP server test gave no result: the connection broke, and whether it took effect is unknown. The next call connects again. It was killed by SIGKILL. Its last words: out of memory',
    );
    const after = await pidOf(server);
    expect(after).not.toBe(before);
  });

  test('with a code is said to have it', async () => {
    const { text } = await call(await connect(), 'exit', { words: 'bye' });
    expect(text).toMatch(/It exited with code 3\. Its last words: bye$/);
  });

  test('takes all calls that run with it, and each says so', async () => {
    const server = await connect();
    const waiting = [call(server, 'wait'), call(server, 'mute')];
    const [died, ...others] = await Promise.all([call(server, 'die'), ...waiting]);
    for (const { isError, text } of [died, ...others]) {
      expect(isError).toBe(true);
      expect(text).toContain('It was killed by SIGKILL');
    }
  });

  test('between calls is started again without a word, once for all that call', async () => {
    const server = await connect([`--starts=${path('starts')}`]);
    const pid = await pidOf(server);
    await kill(pid);
    const results = await Promise.all(
      Array.from({ length: 5 }, () => call(server, 'echo', { text: 'hi' })),
    );
    expect(results.map(({ text }) => text)).toEqual(Array(5).fill('hi'));
    expect(linesOf('starts')).toHaveLength(2);
  });

  test('and cannot be started again is tried once a call', async () => {
    const server = await connect([`--starts=${path('starts')}`, '--once']);
    await call(server, 'die');
    for (const starts of [2, 3]) {
      expect(await call(server, 'echo')).toMatchObject({
        isError: true,
        text: expect.stringMatching(
          /^echo was not called\. Cannot connect to MCP server test: .*exited with code 7/,
        ),
      });
      expect(linesOf('starts')).toHaveLength(starts);
    }
  });

  test('and comes back with other tools is listed again', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    writeFileSync(path('extra'), 'old');
    const server = await connect([`--extra=${path('extra')}`], { onChange: () => resolve() });
    expect(toolOf(server, 'old')).toBeDefined();
    writeFileSync(path('extra'), 'other');
    await call(server, 'die');
    await call(server, 'echo');
    await promise;
    expect(toolOf(server, 'other')).toBeDefined();
    expect(() => toolOf(server, 'old')).toThrow();
  });

  test('takes those with it that it started', async () => {
    const server = await connect();
    const child = Number((await call(server, 'child')).text);
    expect(isGone(child)).toBe(false);
    expect((await call(server, 'die')).text).toContain('It was killed by SIGKILL');
    await untilGone(child);
  });
});

describe('close', () => {
  test('ends the process and those that it started', async () => {
    const server = await connect([], { graceMs: 20 });
    const pids = [await pidOf(server), Number((await call(server, 'child')).text)];
    await server.close();
    await Promise.all(pids.map(untilGone));
  });

  test('kills a process that does not end by itself', async () => {
    const server = await connect(['--stubborn'], { graceMs: 20 });
    const pid = await pidOf(server);
    await server.close();
    expect(isGone(pid)).toBe(true);
  });

  test('gives up the calls that run, and later ones are not made', async () => {
    const server = await connect();
    const { promise: isWaiting, resolve } = Promise.withResolvers<void>();
    const running = call(server, 'wait', {}, { update: () => resolve() });
    await isWaiting;
    await Promise.all([server.close(), server.close()]);
    expect(await running).toMatchObject({
      isError: true,
      text: expect.stringContaining('was given up, because its server was closed'),
    });
    expect(await call(server, 'echo')).toMatchObject({
      isError: true,
      text: 'echo was not called. Cannot use MCP server test: it was closed. Connect again',
    });
  });

  test('while it starts again ends the new process too', async () => {
    const server = await connect([`--starts=${path('starts')}`]);
    await call(server, 'die');
    const calling = call(server, 'echo');
    await server.close();
    expect((await calling).isError).toBe(true);
    for (const pid of linesOf('starts').map(Number)) expect(isGone(pid)).toBe(true);
  });

  test('that was forgotten is made up for when our process ends', async () => {
    const program = fileURLToPath(
      new URL('../../testing/mcp-client-in-process.ts', import.meta.url),
    );
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--conditions=@millrace/source', program],
      { encoding: 'utf8' },
    );
    expect(Number(stdout), stderr).toBeGreaterThan(0);
    await untilGone(Number(stdout));
  });
});

describe('a server that cannot be used', () => {
  test('because there is no such program is named', async () => {
    const stdio = { command: 'no-such-program-here' };
    await expect(connections.connect({ name: 'gone', stdio })).rejects.toMatchObject({
      name: 'McpError',
      code: 'cannot_connect',
      place: { server: 'gone' },
      message:
        'Cannot connect to MCP server gone: there is no program no-such-program-here. Install it, or give its path.',
    });
  });

  test('because it dies tells why, without the secrets it was given', async () => {
    const server = stdioServer(['--dies'], { API_TOKEN: 'hush-hush-hush' });
    await expect(connections.connect(server)).rejects.toMatchObject({
      message:
        'Cannot connect to MCP server test: it went away. It exited with code 7. Its last words: cannot start: [secret]',
    });
  });

  test('because it does not answer is ended', async () => {
    const script = `echo $$ > ${path('pid')}; exec sleep 1000`;
    const stdio = { command: 'sh', args: ['-c', script] };
    await expect(
      connections.connect({ name: 'slow', stdio }, { connectTimeoutMs: 500, graceMs: 20 }),
    ).rejects.toMatchObject({
      message: expect.stringContaining('within 500 ms (connectTimeoutMs)'),
    });
    expect(isGone(Number(linesOf('pid')[0]))).toBe(true);
  });

  test('because it closes its output is ended', async () => {
    const stdio = { command: 'sh', args: ['-c', 'exec sleep 1000 >&-'] };
    await expect(
      connections.connect({ name: 'shut', stdio }, { graceMs: 20 }),
    ).rejects.toMatchObject({
      message: expect.stringContaining('it went away. It closed its output.'),
    });
  });

  test('because its list cannot be read is ended', async () => {
    await expect(connect([`--starts=${path('starts')}`, '--endless'])).rejects.toThrow();
    expect(isGone(Number(linesOf('starts')[0]))).toBe(true);
  });
});

test('a server gets what it is given and the basics, and nothing else of ours', async () => {
  process.env['MCP_TEST_SECRET'] = 'ours';
  try {
    const server = await connections.connect(stdioServer([], { GIVEN: 'yes' }));
    const environment = JSON.parse((await call(server, 'environment')).text);
    expect(environment).toMatchObject({ GIVEN: 'yes', PATH: process.env['PATH'] });
    expect(environment).not.toHaveProperty('MCP_TEST_SECRET');
  } finally {
    delete process.env['MCP_TEST_SECRET'];
  }
});

test('a server runs in the folder that it is given', async () => {
  const { name, stdio } = stdioServer();
  if (stdio === undefined) throw new Error('It is one of stdio');
  const server = await connections.connect({ name, stdio: { ...stdio, cwd: folder } });
  expect((await call(server, 'folder')).text).toBe(realpathSync(folder));
});

test('a server of the revision of 2026 is found by asking, and so is one from before', async () => {
  for (const flags of [['--modern'], []]) {
    const server = await connect([...flags, `--notes=${path('notes')}`], { negotiate: true });
    expect(await call(server, 'count', { to: 2 })).toMatchObject({
      text: 'counted',
      updates: ['step 1 (1/2)\n', 'step 2 (2/2)\n'],
    });
    const abort = new AbortController();
    const stopping = { signal: abort.signal, update: () => abort.abort() };
    expect((await call(server, 'wait', {}, stopping)).thrown).toBe(abort.signal.reason);
    await untilNoted('cancelled');
    rmSync(path('notes'));
  }
});

test('a server of the revision of 2026 alone is not found without asking', async () => {
  await expect(connect(['--modern'])).rejects.toMatchObject({ code: 'cannot_connect' });
});
