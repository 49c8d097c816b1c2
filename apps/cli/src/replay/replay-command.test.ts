import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent, defineTool, systemClock } from '@millrace/agent';
import { type AgentEvent, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import type { ReplayArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { exportLines } from '../sessions/export-sessions.ts';
import { openStore } from '../store/open-store.ts';
import { userItem } from '../store/session-summaries.ts';
import { CapturedOutput, FailingOutput } from '../testing/output-streams.ts';
import { eventsIn, toolCall } from '../testing/run-print.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { type ReplayCommandOptions, replayCommand } from './replay-command.ts';

const folder = temporaryFolder('replay');
const cwd = '/here';
const session = sessionId('one');
let store: string;
let count = 0;
beforeEach(() => {
  store = join(folder(), `${++count}.db`);
});

/**
 * Records a session with a tool that takes ten seconds, and with a user who returns the next day.
 */
async function record(more: (log: Log) => Promise<void> = async () => {}) {
  const clock = new VirtualClock();
  // The store waits in real time, but it writes virtual times.
  const storeClock = { ...systemClock, now: () => clock.now() };
  const { log, close } = await openStore({ config: { store }, env: {}, clock: storeClock });
  const slow = defineTool({
    ...{ name: 'slow', description: 'Takes its time', input: z.object({}) },
    summarize: () => 'wait for it',
    execute: async () => {
      clock.advance(10_000);
      return 'done';
    },
  });
  const first = { content: { parts: ['I wait.', toolCall('c1', 'slow', {})] } };
  const script = [first, 'It turns.', 'Still.'];
  const provider = scriptedProvider(script, { pieces: 'whole' });
  const agent = createAgent({ provider, log, clock, tools: [slow] });
  const events: AgentEvent[] = [];
  for (const words of ['The weather?', 'And now?\nReally?']) {
    const run = agent.run(userItem([words], { cwd }), { session });
    for await (const event of run.events) events.push(event);
    clock.advance(86_400_000);
  }
  await more(log);
  await close();
  return events;
}

const args: ReplayArgs = {
  command: 'replay',
  ...{ session: 'one', speed: Number.POSITIVE_INFINITY, json: false, color: true },
};

async function replay(own: Partial<ReplayArgs>, options: Partial<ReplayCommandOptions> = {}) {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const code = await replayCommand({
    ...{ args: { ...args, ...own }, config: { store }, stdout, stderr, env: {}, cwd },
    ...options,
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

test('18.362: attack: a terminal that reports 0 columns ends the replay', async () => {
  await record();
  const stdout = Object.assign(new CapturedOutput(), { columns: 0 });
  const { code } = await replay({}, { stdout });
  expect(code).toBe(exitCodes.done);
  expect(stdout.text).toContain('It turns.');
});

/**
 * A virtual clock that advances immediately when code waits for it. It records the length of each
 * wait.
 */
class HastyClock extends VirtualClock {
  readonly waits: number[] = [];

  override after(ms: number, run: () => void): () => void {
    this.waits.push(ms);
    const cancel = super.after(ms, run);
    setImmediate(() => this.advance(ms));
    return cancel;
  }
}

const whole = [
  '\n› The weather?\n\n',
  'I wait.\n',
  '▸ wait for it ✓ 10.0 s\n',
  'It turns.\n',
  '— stop\n',
  '\n› And now?\n  Really?\n\n',
  'Still.\n',
  '— stop\n',
].join('');

describe('a session that is shown again', () => {
  test('has what people, the model and tools said, and nothing is run', async () => {
    await record();
    expect(await replay({})).toEqual({ code: exitCodes.done, stdout: whole, stderr: '' });
  });

  test('as JSONL has the events that its runs told', async () => {
    const told = await record();
    const { stdout } = await replay({ json: true });
    expect(eventsIn(stdout)).toEqual(told);
  });

  test('shows what is left of a turn that was settled', async () => {
    await record(async (log) => {
      for (const turn of [1, 2, 3]) expect(await log.settle(session, turn)).toBe(true);
    });
    const { stdout } = await replay({});
    for (const words of ['› The weather?', 'I wait.', 'It turns.', 'Still.'])
      expect(stdout).toContain(`${words}\n`);
  });

  test('takes its time as it was, long pauses shortened, which is said', async () => {
    await record();
    const clock = new HastyClock();
    const { stdout, stderr } = await replay({ speed: 1 }, { clock });
    expect(stdout).toBe(whole);
    expect(clock.waits).toEqual([2000, 2000]);
    expect(stderr.split('\n')).toEqual([
      '(a pause of 10.0 s, shortened to 2.0 s)',
      '(a pause of 86400.0 s, shortened to 2.0 s)',
      '',
    ]);
  });

  test('takes a fourth of it at four times the speed', async () => {
    await record();
    const clock = new HastyClock();
    await replay({ speed: 4 }, { clock });
    expect(clock.waits).toEqual([500, 500]);
  });

  test('stops when its signal aborts, also in a pause', async () => {
    await record();
    const stop = new AbortController();
    const clock = new VirtualClock();
    const stdout = new CapturedOutput();
    const replaying = replay({ speed: 1 }, { clock, stdout, signal: stop.signal });
    while (clock.pending === 0) await new Promise(setImmediate);
    stop.abort();
    expect((await replaying).code).toBe(exitCodes.aborted);
    expect(stdout.text).toBe('\n› The weather?\n\nI wait.\n▸ wait for it\n');
    expect(clock.pending).toBe(0);
  });

  test('18.899: attack: a file of a project is a FIFO, and a signal does not end the replay', async () => {
    const path = join(folder(), 'in.jsonl');
    execFileSync('mkfifo', [path]);
    const stop = new AbortController();
    const replaying = replay({ session: path }, { signal: stop.signal });
    stop.abort();
    await expect(replaying).rejects.toThrow('Stopped by a signal');
    const device = join(folder(), 'device.jsonl');
    symlinkSync('/dev/zero', device);
    await expect(replay({ session: device })).rejects.toThrow('it is not a regular file');
  });

  test('ends quietly where nobody looks any more, and says where it cannot be written', async () => {
    await record();
    const left = await replay({}, { stdout: new FailingOutput('EPIPE', 1) });
    expect([left.code, left.stderr]).toEqual([exitCodes.done, '']);
    const full = replay({}, { stdout: new FailingOutput('ENOSPC', 1) });
    await expect(full).rejects.toMatchObject({ code: 'cannot_write' });
  });

  test('25: can be in a file of an export, which starts with its blobs', async () => {
    const lines: string[] = [];
    await record(async (log) => {
      const blob = await log.blobs.put(new TextEncoder().encode('sun'));
      const source = { type: 'blob', ...blob } as const;
      const parts = [{ kind: 'media', mimeType: 'image/png', source }] as const;
      const agent = createAgent({ provider: scriptedProvider(['I see it.']), log });
      await agent.run({ kind: 'user', parts }, { session }).result;
      for await (const line of exportLines(log, [session])) lines.push(line);
    });
    expect(lines[0]).toMatch(/^\{"hash":/);
    const path = join(folder(), 'exported.jsonl');
    writeFileSync(path, lines.join(''));
    expect((await replay({ session: path })).stdout).toContain('I see it.');
  });

  test('has to be there', async () => {
    await record();
    await expect(replay({ session: 'nope' })).rejects.toMatchObject({ code: 'no_such_session' });
    writeFileSync(join(folder(), 'agents.ts'), '');
    await expect(replay({ session: './agents.ts' }, { cwd: folder() })).rejects.toThrow(
      'The file of that name is no recording: its name does not end in .jsonl',
    );
  });
});
