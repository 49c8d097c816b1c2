import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TestClock } from '@millrace/log/suite';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { isRunning, pidsIn, until } from '../testing/processes.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { type BashToolOptions, bashTool } from './bash-tool.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

/** Starts a command and waits until it has created the file `ready`. */
async function started(command: string, options: Partial<BashToolOptions> = {}) {
  const stop = new AbortController();
  const tool = bashTool({ workspace: createWorkspace({ root }), ...options });
  let isOver = false;
  const running = runTool(tool, { command }, { signal: stop.signal }).finally(() => {
    isOver = true;
  });
  await until(() => existsSync(join(root, 'ready')) || isOver);
  return { stop, running, isOver: () => isOver };
}

const pids = () => pidsIn(join(root, 'pids'));

describe('an abort', () => {
  test('ends all processes of the command before the call resolves', async () => {
    const { stop, running } = await started(
      'echo $$ > pids; (sleep 100 & echo $! >> pids; sleep 100) & echo $! >> pids; echo said; ' +
        'until [ "$(wc -l < pids)" -eq 3 ]; do sleep 0.01; done; touch ready; sleep 100',
    );
    expect(pids()).toHaveLength(3);
    expect(pids().every(isRunning)).toBe(true);
    stop.abort();
    const { text, isError, value } = await running;
    expect(pids().filter(isRunning)).toEqual([]);
    expect(isError).toBe(true);
    expect(value).toMatchObject({ aborted: true, timedOut: false, signal: 'SIGTERM' });
    expect(text).toBe('said\n[It was aborted before it finished]');
  });

  test('ends the other process groups of the session, which a shell with job control creates', async () => {
    const { stop, running } = await started(
      'set -m; sleep 100 & echo $! > pids; sleep 100 & echo $! >> pids; touch ready; wait',
    );
    stop.abort();
    await running;
    expect(pids().filter(isRunning)).toEqual([]);
  });

  test('kills processes that ignore SIGTERM after the grace time, not before', async () => {
    const clock = new TestClock();
    const { stop, running, isOver } = await started(
      'trap "touch asked" TERM; echo $$ > pids; touch ready; while :; do sleep 0.05; done',
      { clock, graceMs: 2000 },
    );
    stop.abort();
    await until(() => existsSync(join(root, 'asked')));
    await clock.advance(1999);
    expect(isOver()).toBe(false);
    expect(pids().every(isRunning)).toBe(true);
    await clock.advance(1);
    expect(await running).toMatchObject({ value: { aborted: true, signal: 'SIGKILL' } });
    expect(pids().filter(isRunning)).toEqual([]);
  });

  test('includes the output of a command that ends on SIGTERM', async () => {
    const { stop, running } = await started(
      'trap "echo bye; exit 7" TERM; touch ready; while :; do sleep 0.05; done',
    );
    stop.abort();
    expect(await running).toMatchObject({
      text: expect.stringMatching(/bye\n\[It was aborted before it finished\]$/),
      value: { exitCode: 7 },
    });
  });

  test('before the call starts nothing', async () => {
    const signal = AbortSignal.abort(new Error('too late'));
    const tool = bashTool({ workspace: createWorkspace({ root }) });
    const { text } = await runTool(tool, { command: 'touch ready' }, { signal });
    expect(text).toBe('too late');
    expect(existsSync(join(root, 'ready'))).toBe(false);
  });
});

test('a process that exits kills the processes of its commands', async () => {
  const program = fileURLToPath(new URL('../testing/bash-in-process.ts', import.meta.url));
  const args = ['--conditions=@millrace/source', program, root];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  expect(pids()).toHaveLength(2);
  onTestFinished(() => {
    for (const pid of pids()) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  });
  // The processes were killed before this process exited, but they may still be ending.
  await until(() => !pids().some(isRunning));
});

describe('time', () => {
  test('that is up ends a command like an abort', async () => {
    const clock = new TestClock();
    const { running, isOver } = await started(
      'sleep 100 & echo $! > pids; echo said; touch ready; sleep 100',
      { clock, timeoutMs: 5000 },
    );
    await clock.advance(4999);
    expect(isOver()).toBe(false);
    await clock.advance(1);
    const { text, value, isError } = await running;
    expect(pids().filter(isRunning)).toEqual([]);
    expect(isError).toBe(true);
    expect(value).toMatchObject({ timedOut: true, aborted: false });
    expect(text).toMatch(/^said\n\[It took longer than 5000 ms and was stopped.*timeout_ms/);
  });
});

describe('a process in the background', () => {
  test('does not delay the call, and is stopped', async () => {
    const { running } = await started('sleep 100 & echo $! > pids; echo done; touch ready');
    const { text, isError } = await running;
    expect(text).toMatch(/^done\n\[Background processes that were stopped: 1\. .*setsid/);
    expect(isError).toBe(false);
    expect(pids().filter(isRunning)).toEqual([]);
  });

  test('that is about to end is awaited, with its output', async () => {
    // The clock does not move, so the command never times out.
    const { running } = await started('echo late > >(sleep 0.2; cat); touch ready', {
      clock: new TestClock(),
    });
    expect((await running).text).toBe('late');
  });

  test('in its own session continues, and does not delay the call through the pipe', async () => {
    const { running } = await started(
      'setsid sh -c "echo \\$\\$ > pids; touch ready; exec sleep 100" & until [ -e ready ]; do sleep 0.01; done; echo done',
    );
    expect((await running).text).toBe('done');
    const [pid = 0] = pids();
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
    await until(() => !isRunning(pid));
  });

  test('that prints to the pipe forever does not delay the call', async () => {
    const { running } = await started(
      'setsid sh -c "echo \\$\\$ > pids; touch ready; exec yes" & until [ -e ready ]; do sleep 0.01; done; exit 5',
    );
    expect(await running).toMatchObject({ value: { exitCode: 5 } });
    // The pipe has no reader any more, which ends the process.
    await until(() => !pids().some(isRunning));
  });
});
