import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  answerReply,
  type ScriptedReply,
  type ScriptedServer,
  type Step,
  startScriptedServer,
} from '@millrace/providers/scripted-server';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { childEnv, fewOf } from '../../../packages/core/src/testing/runs.ts';
import { version } from './package-files.ts';
import { builtProgram } from './testing/built-program.ts';

let root: string;
let server: ScriptedServer;
const started: ChildProcess[] = [];
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'millrace-main-'));
  mkdirSync(join(root, '.config/millrace'), { recursive: true });
  server = await startScriptedServer();
  const models = { test: { provider: 'compatible', model: 'any', baseUrl: `${server.url}/v1` } };
  const config = JSON.stringify({ model: 'test', models });
  writeFileSync(join(root, '.config/millrace/config.json'), config);
});
afterEach(async () => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  await server.close();
  rmSync(root, { recursive: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<{
    readonly code: number | null;
    readonly stdout: string;
    readonly stderr: string;
  }>;
}

interface StartOptions {
  readonly stdout?: number | 'pipe';
  /** The arguments that start the command. Default: the published command. */
  readonly command?: readonly string[];
}

/** Starts the command as a separate process with an empty input. */
function start(
  argv: readonly string[],
  { stdout = 'pipe', command = [builtProgram()] }: StartOptions = {},
): Started {
  const env = { HOME: root, ...childEnv() };
  const stdio = ['ignore', stdout, 'pipe'] as const;
  const child = spawn(process.execPath, [...command, ...argv], {
    cwd: root,
    env,
    stdio: [...stdio],
  });
  started.push(child);
  const [out, err] = [collect(child.stdout), collect(child.stderr)];
  const ended = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    stdout: out.join(''),
    stderr: err.join(''),
  }));
  return { child, ended };
}

function collect(stream: Readable | null): readonly string[] {
  const chunks: string[] = [];
  stream?.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk));
  return chunks;
}

/** The start of an answer whose end never arrives. */
const unfinished =
  (words: string): ScriptedReply =>
  (request) => {
    const { steps, ...reply } = answerReply({ text: words }, request, { pieces: 'whole' });
    const isSaid = (step: Step) =>
      (typeof step === 'string' || step instanceof Uint8Array) && Buffer.from(step).includes(words);
    const until = steps.findIndex(isSaid) + 1;
    return { ...reply, steps: [...steps.slice(0, until), { type: 'stall' }] };
  };

test('--version loads nothing but the version', async () => {
  const hooks = `import { registerHooks } from 'node:module';
registerHooks({ load(url, context, next) {
  if (url.startsWith('file:')) process.stderr.write(url + '\\n');
  return next(url, context);
} });`;
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const command = ['--import', `data:text/javascript,${encodeURIComponent(hooks)}`, main];
  const { code, stdout, stderr } = await start(['--version'], { command }).ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${version()}\n` });
  expect(
    stderr
      .trim()
      .split('\n')
      .map((url) => basename(url)),
  ).toEqual(['main.ts', 'package-files.ts']);
});

test('wrong usage ends with 2 and one line', async () => {
  const { code, stdout, stderr } = await start(['--modle']).ended;
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^millrace: Unknown flag --modle.*\n$/);
});

describe('an answer that is cut short', () => {
  test.each(fewOf(['SIGINT', 'SIGTERM', 'SIGHUP'] as const, 1))(
    'by %s ends as aborted, and the session goes on from what was said',
    async (signal) => {
      server.reply(unfinished('It turns'));
      const { child, ended } = start(['-p', 'The weather?', '--stream', 'all']);
      await new Promise<void>((resolve) => {
        child.stdout?.once('data', () => resolve());
      });
      child.kill(signal);
      expect(await ended).toMatchObject({ code: 3, stdout: expect.stringContaining('It turns') });
      server.answer({ text: 'And turns.' });
      const again = await start(['-p', '-c', 'Go on']).ended;
      expect(again).toMatchObject({ code: 0, stdout: 'And turns.\n' });
      expect(JSON.stringify(server.requests[1]?.body)).toContain('It turns');
    },
  );

  test('by a reader that leaves is no crash', async () => {
    const lines = Array.from({ length: 2000 }, (_, index) => `line ${index}`).join('\n');
    server.answer({ text: lines });
    const { child, ended } = start(['-p', 'Much', '--stream', 'all']);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
  });
});

const full = '/dev/full';
test.runIf(existsSync(full))('a full disk is an error that is said', async () => {
  server.answer({ text: 'It turns.' });
  const stdout = openSync(full, 'w');
  const { code, stderr } = await start(['-p', 'The weather?'], { stdout }).ended;
  closeSync(stdout);
  expect(code).toBe(1);
  expect(stderr).toContain('Cannot write to standard output: the disk is full');
});
