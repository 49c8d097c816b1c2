import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { decodeEvent, type Item, type LogRecord, type SessionId, transcript } from '@millrace/core';
import { readRecords, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeAll, describe, expect, test } from 'vitest';
import { findLogProblems } from '../../../../packages/agent/src/testing/check-log.ts';
import { runConcurrently } from '../../../../packages/agent/src/testing/kills/kills.ts';
import { childEnv, patientMs } from '../../../../packages/core/src/testing/runs.ts';
import { bundledProgram } from '../../../../scripts/bundled-program.ts';
import type { PrintArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { openStore } from '../store/open-store.ts';
import { eventsIn } from '../testing/run-print.ts';
import { collect } from '../testing/sessions.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { AnswerStream } from './answer-stream.ts';

// Tests real processes with real signals, pipes and devices, as a shell would use the command.

const folder = temporaryFolder('print-process');
const program = bundledProgram(new URL('../testing/print-process.ts', import.meta.url));
let count = 0;

interface Started {
  readonly child: ChildProcess;
  readonly store: string;
  /** The output up to now. */
  readonly said: { stdout: string; stderr: string };
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

interface StartOptions {
  readonly args?: Partial<PrintArgs>;
  readonly at?: number;
  readonly stdio?: SpawnOptions['stdio'];
}

const env = childEnv();
const argsOf = (store: string, play: string, { args = {}, at = 0 }: StartOptions) => [
  ...[program, store, play, JSON.stringify(args), String(at)],
];

function start(play: string, options: StartOptions = {}): Started {
  const { stdio = ['ignore', 'pipe', 'pipe'] } = options;
  const store = join(folder(), `${++count}.db`);
  return watched(spawn(process.execPath, argsOf(store, play, options), { env, stdio }), store);
}

function watched(child: ChildProcess, store: string): Started {
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
      child.emit('said');
    });
  const exit = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  return { child, store, said, exit };
}

/** Waits until the output of the process matches a pattern. */
async function until({ child, said, exit }: Started, form: RegExp): Promise<void> {
  const ended = exit.then(() => 'ended');
  while (!form.test(said.stdout + said.stderr)) {
    const leave = new AbortController();
    const more = once(child, 'said', { signal: leave.signal }).catch(() => 'left');
    const came = await Promise.race([more, ended]);
    leave.abort();
    if (came === 'ended') throw new Error(`It ended, and said: ${said.stdout}${said.stderr}`);
  }
}

interface Left {
  readonly session: SessionId;
  readonly records: readonly LogRecord[];
  readonly items: readonly Item[];
  /** The result of an agent that continues the session. */
  readonly next: { readonly reason: string; readonly text: string; readonly sent: number };
}

/**
 * Returns the session that the process left in the store. Also checks that an agent can continue
 * it.
 */
async function leftIn(store: string): Promise<Left> {
  const { log, close } = await openStore({ config: { store }, env: {} });
  try {
    const [{ session } = {}] = await log.list();
    if (session === undefined) throw new Error('There is no session');
    const records = await collect(readRecords(log, session));
    const items = transcript(await snapshot(log, session));
    const provider = scriptedProvider(['Go on.']);
    const { stop, text } = await createAgent({ provider, log }).run('And?', { session }).result;
    const after = await collect(readRecords(log, session));
    expect(findLogProblems(session, after)).toEqual([]);
    const sent = provider.requests[0]?.request.items.length ?? 0;
    return { session, records, items, next: { reason: stop.reason, text, sent } };
  } finally {
    await close();
  }
}

const textOf = (items: readonly Item[]) =>
  items
    .filter(({ kind }) => kind === 'assistant')
    .map(({ parts }) => parts.map((part) => (part.kind === 'text' ? part.text : '')).join(''))
    .filter((text) => text !== '')
    .join('\n\n');

test('a run that nobody disturbs prints its answer and ends with 0', async () => {
  const { said, exit } = start('tool');
  expect(await exit).toEqual({ code: exitCodes.done, signal: null });
  expect(said).toEqual({ stdout: 'It turns.\n', stderr: '' });
});

describe.each(['SIGINT', 'SIGTERM'] as const)('%s', (signal) => {
  test('stops the run, which keeps what was printed, and ends with 3', async () => {
    const started = start('long', { args: { stream: 'all' } });
    await until(started, /Line 3/);
    started.child.kill(signal);
    expect(await started.exit).toEqual({ code: exitCodes.aborted, signal: null });
    const { session, items, next } = await leftIn(started.store);
    const { stdout, stderr } = started.said;
    expect(stderr).toContain(`millrace --resume ${session}`);
    expect(textOf(items)).toBe(stdout.replace(/\n$/, ''));
    expect(items.at(-1)?.stop).toEqual({ reason: 'aborted' });
    expect(next).toMatchObject({ reason: 'stop', text: 'Go on.' });
  });

  test('ends a process that waits for what is piped in', async () => {
    const started = start('piped', { stdio: ['pipe', 'pipe', 'pipe'] });
    await until(started, /\(begun\)/);
    started.child.kill(signal);
    expect(await started.exit).toEqual({ code: exitCodes.aborted, signal: null });
    expect(started.said.stderr).toContain('Stopped before the run started');
  });
});

test('a second signal ends the process at once, and what was said is still there', async () => {
  const started = start('stuck', { args: { stream: 'all' } });
  await until(started, /I stay/);
  started.child.kill('SIGINT');
  await until(started, /\(aborted\)/);
  started.child.kill('SIGINT');
  expect(await started.exit).toEqual({ code: null, signal: 'SIGINT' });
  const { items, next } = await leftIn(started.store);
  expect(textOf(items)).toBe('I stay.');
  expect(next.reason).toBe('stop');
});

describe('SIGINT at any event', () => {
  interface Interrupted {
    readonly at: number;
    readonly code: number | null;
    readonly told: string;
    readonly left: Left;
  }
  let all: readonly Interrupted[];
  let whole: number;

  beforeAll(async () => {
    const undisturbed = start('tool', { args: { json: true } });
    await undisturbed.exit;
    whole = eventsIn(undisturbed.said.stdout).length;
    const jobs = Array.from({ length: whole }, (_, index) => async () => {
      const { said, exit, store } = start('tool', { args: { json: true }, at: index + 1 });
      const { code } = await exit;
      return { at: index + 1, code, told: said.stdout, left: await leftIn(store) };
    });
    all = await runConcurrently(jobs, 3);
  }, patientMs(300_000));

  test('leaves a session that goes on', () => {
    expect(whole).toBeGreaterThan(20);
    expect(all).toHaveLength(whole);
    for (const { at, left } of all)
      expect(left.next, `event ${at}`).toMatchObject({ reason: 'stop', text: 'Go on.' });
  });

  test('ends with 3, or with 0 where the answer was whole by then', () => {
    for (const { at, code, left } of all) {
      const stop = left.records.findLast(({ fact }) => fact?.type === 'run_finished')?.fact;
      const reason = stop?.type === 'run_finished' ? stop.stop.reason : undefined;
      expect(['aborted', 'stop'], `event ${at}`).toContain(reason);
      const expected = reason === 'stop' ? exitCodes.done : exitCodes.aborted;
      expect(code, `event ${at}`).toBe(expected);
    }
    expect(all.filter(({ code }) => code === exitCodes.aborted).length).toBeGreaterThan(whole / 2);
  });

  test('loses nothing that was printed: the JSONL folds to the answer that is kept', () => {
    for (const { at, told, left } of all) {
      const events = eventsIn(told);
      const answer = new AnswerStream();
      const printed = events.map((event) => answer.add(event).text).join('');
      const ends = events.filter(({ type }) => type === 'run_finished');
      expect(ends, `event ${at}`).toHaveLength(1);
      expect(printed, `event ${at}`).toBe(
        textOf(left.items) === '' ? '' : `${textOf(left.items)}\n`,
      );
    }
  });
});

describe('a pipe that is read no further', () => {
  test.each([
    ['text', { stream: 'all' as const }],
    ['JSONL', { json: true }],
  ])('ends the run of %s quietly, and the session is kept', async (_form, args) => {
    const store = join(folder(), `${++count}.db`);
    const script = '{ "$0" "$@"; echo "exit $?" >&2; } | head -1';
    const words = ['-c', script, process.execPath, ...argsOf(store, 'long', { args })];
    const { said, exit } = watched(
      spawn('sh', words, { env, stdio: ['ignore', 'pipe', 'pipe'] }),
      store,
    );
    expect((await exit).code).toBe(0);
    expect(said.stdout.split('\n')).toHaveLength(2);
    expect(said.stderr).toBe(`(aborted)\nexit ${exitCodes.aborted}\n`);
    const { items, records, next } = await leftIn(store);
    const [printed = ''] = said.stdout.split('\n');
    const isJson = 'json' in args;
    if (isJson) expect(records.map(({ offset }) => offset)).toContain(decodeEvent(printed).offset);
    else expect(textOf(items)).toMatch(/^Line 1 of the answer\.\n/);
    expect(items.at(-1)?.stop?.reason ?? 'aborted').toBe('aborted');
    expect(next.reason).toBe('stop');
  });
});

describe.skipIf(!existsSync('/dev/full'))('a device that is full', () => {
  test.each([
    ['text', { stream: 'all' as const }],
    ['JSONL', { json: true }],
  ])('is an error of one clear line for %s, and the session is kept', async (_form, args) => {
    const full = openSync('/dev/full', 'w');
    const started = start('long', { args, stdio: ['ignore', full, 'pipe'] });
    const ended = await started.exit;
    closeSync(full);
    expect(ended).toEqual({ code: exitCodes.error, signal: null });
    const { session, next } = await leftIn(started.store);
    expect(started.said.stderr).toBe(
      `(aborted)\nCannot write to standard output: the disk is full (ENOSPC). The session is stored: millrace --resume ${session}\n`,
    );
    expect(next.reason).toBe('stop');
  });
});
