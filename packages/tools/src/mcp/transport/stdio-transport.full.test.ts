import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { bundledProgram } from '../../../../../scripts/bundled-program.ts';
import { call, McpConnections, stdioServer, toolOf } from '../../testing/mcp-connections.ts';
import { isGone } from '../../testing/processes.ts';
import type { McpOptions, McpTools } from '../index.ts';

// These tests use processes that are stopped, killed, slow or unresponsive.

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
/**
 * Kills a child process and waits until the transport has noticed its end. A call in between may be sent to a
 * dead process.
 */
const kill = async (pid: number) => {
  process.kill(pid, 'SIGKILL');
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: 60_000 });
};
const untilNoted = (word: string) =>
  vi.waitFor(() => expect(linesOf('notes')).toContain(word), { timeout: 60_000 });

describe('an abort', () => {
  test('ends a call immediately and cancels it at the server', async () => {
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

  test('does not affect other calls', async () => {
    const server = await connect();
    const abort = new AbortController();
    const other = call(server, 'count', { to: 50 });
    await call(server, 'wait', {}, { signal: abort.signal, update: () => abort.abort() });
    expect(await other).toMatchObject({ text: 'counted' });
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  });

  test('before a call prevents the call', async () => {
    const server = await connect([`--notes=${path('notes')}`]);
    const { thrown } = await call(server, 'wait', {}, { signal: AbortSignal.abort('over') });
    expect(thrown).toBe('over');
    await call(server, 'echo');
    expect(() => linesOf('notes')).toThrow('ENOENT');
  });

  test('during a restart of the server ends the call, and the restart continues for others', async () => {
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

describe('a timeout', () => {
  test('ends a call without progress and cancels it at the server', async () => {
    const server = await connect([`--notes=${path('notes')}`], { timeoutMs: 50 });
    expect(await call(server, 'wait')).toMatchObject({
      isError: true,
      text: expect.stringMatching(/wait of MCP server test gave no result in time \(limits: 50 ms/),
    });
    await untilNoted('cancelled');
  });

  test('restarts with each progress message', async () => {
    const server = await connect([], { timeoutMs: 1_000 });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let count = 0;
    const update = () => {
      count++;
      vi.advanceTimersByTime(count < 5 ? 900 : 1_000);
    };
    expect(await call(server, 'drip', {}, { update })).toMatchObject({
      isError: true,
      text: expect.stringContaining('1000 ms without progress'),
      updates: { length: 5 },
    });
  });

  test('for the whole call ends even a call with progress, and cancels it at the server', async () => {
    const server = await connect([`--notes=${path('notes')}`], { totalTimeoutMs: 50 });
    expect(await call(server, 'drip')).toMatchObject({
      isError: true,
      text: expect.stringContaining('50 ms in total'),
    });
    await untilNoted('cancelled');
  });

  test('is shorter than the timeout of the agent loop', async () => {
    const server = await connect([], { totalTimeoutMs: 7_000 });
    expect(toolOf(server, 'echo').timeoutMs).toBe(12_000);
  });
});

describe('a server that exits', () => {
  test('during a call gives an error with its last output, and is restarted by the next call', async () => {
    const server = await connect();
    const before = await pidOf(server);
    const { text, isError } = await call(server, 'die', {
      words: 'out of \u001b[31mmemory\u001b[0m',
    });
    expect(isError).toBe(true);
    expect(text).toBe(
      'die of MCP server test gave no result: the connection broke, and it is unknown whether it took effect. The next call connects again. It was killed by SIGKILL. Last output: out of memory',
    );
    const after = await pidOf(server);
    expect(after).not.toBe(before);
  });

  test('with a code is reported with it', async () => {
    const { text } = await call(await connect(), 'exit', { words: 'bye' });
    expect(text).toMatch(/It exited with code 3\. Last output: bye$/);
  });

  test('ends all running calls with an error', async () => {
    const server = await connect();
    const waiting = [call(server, 'wait'), call(server, 'mute')];
    const [died, ...others] = await Promise.all([call(server, 'die'), ...waiting]);
    for (const { isError, text } of [died, ...others]) {
      expect(isError).toBe(true);
      expect(text).toContain('It was killed by SIGKILL');
    }
  });

  test('between calls is restarted once for all calls', async () => {
    const server = await connect([`--starts=${path('starts')}`]);
    const pid = await pidOf(server);
    await kill(pid);
    const results = await Promise.all(
      Array.from({ length: 5 }, () => call(server, 'echo', { text: 'hi' })),
    );
    expect(results.map(({ text }) => text)).toEqual(Array(5).fill('hi'));
    expect(linesOf('starts')).toHaveLength(2);
  });

  test('and cannot be restarted is tried once per call', async () => {
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

  test('and restarts with other tools is listed again', async () => {
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

  test('takes its child processes with it', async () => {
    const server = await connect();
    const child = Number((await call(server, 'child')).text);
    expect(isGone(child)).toBe(false);
    expect((await call(server, 'die')).text).toContain('It was killed by SIGKILL');
    await untilGone(child);
  });
});

describe('close', () => {
  test('ends the process and its child processes', async () => {
    const server = await connect([], { graceMs: 20 });
    const pids = [await pidOf(server), Number((await call(server, 'child')).text)];
    await server.close();
    await Promise.all(pids.map(untilGone));
  });

  test('kills a process that does not exit', async () => {
    const server = await connect(['--stubborn'], { graceMs: 20 });
    const pid = await pidOf(server);
    await server.close();
    expect(isGone(pid)).toBe(true);
  });

  test('cancels running calls, and later calls are refused', async () => {
    const server = await connect();
    const { promise: isWaiting, resolve } = Promise.withResolvers<void>();
    const running = call(server, 'wait', {}, { update: () => resolve() });
    await isWaiting;
    await Promise.all([server.close(), server.close()]);
    expect(await running).toMatchObject({
      isError: true,
      text: expect.stringContaining('was cancelled because its server was closed'),
    });
    expect(await call(server, 'echo')).toMatchObject({
      isError: true,
      text: 'echo was not called. Cannot use MCP server test: it was closed. Connect again',
    });
  });

  test('during a restart ends the new process too', async () => {
    const server = await connect([`--starts=${path('starts')}`]);
    await call(server, 'die');
    const calling = call(server, 'echo');
    await server.close();
    expect((await calling).isError).toBe(true);
    for (const pid of linesOf('starts').map(Number)) expect(isGone(pid)).toBe(true);
  });

  test('happens at process exit if it was not called', async () => {
    const program = bundledProgram(
      new URL('../../testing/mcp-client-in-process.ts', import.meta.url),
    );
    const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
    expect(Number(stdout), stderr).toBeGreaterThan(0);
    await untilGone(Number(stdout));
  });
});

describe('a server that cannot be used', () => {
  test('because its program does not exist is reported with its name', async () => {
    const stdio = { command: 'no-such-program-here' };
    await expect(connections.connect({ name: 'gone', stdio })).rejects.toMatchObject({
      name: 'McpError',
      code: 'cannot_connect',
      place: { server: 'gone' },
      message:
        'Cannot connect to MCP server gone: there is no program no-such-program-here. Install it, or give its path.',
    });
  });

  test('because it exits is reported with its output, without secrets', async () => {
    const server = stdioServer(['--dies'], { API_TOKEN: 'hush-hush-hush' });
    await expect(connections.connect(server)).rejects.toMatchObject({
      message:
        'Cannot connect to MCP server test: it closed the connection. It exited with code 7. Last output: cannot start: [secret]',
    });
  });

  test('because it does not answer is stopped', async () => {
    const script = `echo $$ > ${path('pid')}; exec sleep 1000`;
    const stdio = { command: 'sh', args: ['-c', script] };
    await expect(
      connections.connect({ name: 'slow', stdio }, { connectTimeoutMs: 500, graceMs: 20 }),
    ).rejects.toMatchObject({
      message: expect.stringContaining('within 500 ms (connectTimeoutMs)'),
    });
    expect(isGone(Number(linesOf('pid')[0]))).toBe(true);
  });

  test('because it closes its output is stopped', async () => {
    const stdio = { command: 'sh', args: ['-c', 'exec sleep 1000 >&-'] };
    await expect(
      connections.connect({ name: 'shut', stdio }, { graceMs: 20 }),
    ).rejects.toMatchObject({
      message: expect.stringContaining('it closed the connection. It closed its output.'),
    });
  });

  test('because its list cannot be read is stopped', async () => {
    await expect(connect([`--starts=${path('starts')}`, '--endless'])).rejects.toThrow();
    expect(isGone(Number(linesOf('starts')[0]))).toBe(true);
  });
});

test('a server gets its own variables and a few basic ones, and no others of this process', async () => {
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

test('a server runs in the configured folder', async () => {
  const { name, stdio } = stdioServer();
  if (stdio === undefined) throw new Error('It is one of stdio');
  const server = await connections.connect({ name, stdio: { ...stdio, cwd: folder } });
  expect((await call(server, 'folder')).text).toBe(realpathSync(folder));
});

test('negotiation works with servers of the revision of 2026 and with older ones', async () => {
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

test('a server that supports only the revision of 2026 needs negotiation', async () => {
  await expect(connect(['--modern'])).rejects.toMatchObject({ code: 'cannot_connect' });
});
