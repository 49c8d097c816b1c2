import { join } from 'node:path';
import { createAgent, defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { exitCodes } from '../exit-code.ts';
import { openStore } from '../store/open-store.ts';
import { CapturedOutput, FailingOutput } from '../testing/output-streams.ts';
import { toolCall } from '../testing/run-print.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { diffCommand } from './diff-command.ts';

const folder = temporaryFolder('diff');
let store: string;
let count = 0;
beforeEach(() => {
  store = join(folder(), `${++count}.db`);
});

/** Records two sessions of the same agent, whose tool returns another forecast. */
async function record(forecasts: readonly [string, string]): Promise<void> {
  const { log, close } = await openStore({ config: { store }, env: {} });
  const cost = { costs: [{ amount: '0.0125', currency: 'USD' }] };
  for (const [name, forecast] of [
    ['monday', forecasts[0]],
    ['tuesday', forecasts[1]],
  ] as const) {
    const weather = defineTool({
      ...{ name: 'weather', description: 'The weather', input: z.object({ city: z.string() }) },
      execute: async () => forecast,
    });
    const script: readonly ScriptEntry[] = [
      { content: { parts: [toolCall('c1', 'weather', { city: 'Oslo' })] } },
      { content: { parts: [`It says: ${forecast}`] }, usage: { input: 1200, output: 20, ...cost } },
    ];
    const agent = createAgent({ log, provider: scriptedProvider(script), tools: [weather] });
    await agent.run('The weather?', { session: sessionId(name) }).result;
  }
  await close();
}

interface DiffPlan {
  readonly json?: boolean;
  readonly a?: string;
  readonly b?: string | undefined;
}

async function diff(
  { json = false, a = 'mon', ...rest }: DiffPlan = {},
  stdout: CapturedOutput = new CapturedOutput(),
) {
  const b = 'b' in rest ? rest.b : 'tuesday';
  const args = { command: 'diff', a, b, json, color: true } as const;
  const stderr = new CapturedOutput();
  const code = await diffCommand({
    args,
    config: { store },
    stdout,
    stderr,
    env: {},
    cwd: '/here',
  });
  return { code, stdout: stdout.text };
}

test('prints the first divergence with its records, its cause and a diff', async () => {
  await record(['sun\nand wind', 'rain\nand wind']);
  const { code, stdout } = await diff();
  expect(code).toBe(exitCodes.done);
  const lines = stdout.split('\n');
  expect(lines[0]).toMatch(/^a {2}monday \(\d+ records, 2 turns\)$/);
  expect(lines.slice(3, 6)).toEqual([
    'First divergence: turn 1, call 1 (weather), another tool result',
    expect.stringMatching(/^a {2}record \d+ \(commit_part\)$/),
    expect.stringMatching(/^b {2}record \d+ \(commit_part\)$/),
  ]);
  expect(stdout).toContain('1 - sun\n1 + rain\n2   and wind\n');
  expect(stdout).toMatch(/^2 +answer +\d+ +\d+ {2}The text differs from character 10$/m);
});

test('prints time, tokens and costs side by side', async () => {
  await record(['sun', 'rain']);
  const { stdout } = await diff();
  expect(stdout).toMatch(/^turn {2}same +time +in +out +cost +model$/m);
  expect(stdout).toMatch(
    /^2 +no +\S+ s +\S+ s +1\.2k +1\.2k +20 +20 +\$0\.013 +\$0\.013 +script$/m,
  );
  expect(stdout).toMatch(/^all /m);
});

test('prints that equal sessions do not differ', async () => {
  await record(['sun', 'sun']);
  const { stdout } = await diff();
  expect(stdout).toContain('The two sessions do not differ.');
});

test('as JSON, prints the whole comparison', async () => {
  await record(['sun', 'rain']);
  const { stdout } = await diff({ json: true });
  expect(JSON.parse(stdout)).toMatchObject({
    a: { session: 'monday', turns: 2 },
    divergence: { cause: 'tool_result', turn: 1, a: { text: { text: 'sun' } } },
    differenceCount: 2,
    turns: [
      { turn: 1, isSame: false },
      { turn: 2, isSame: false },
    ],
  });
});

test('compares a fork with its origin if only the fork is named', async () => {
  await record(['sun', 'rain']);
  const { log, close } = await openStore({ config: { store }, env: {} });
  const { through = 0 } = (await log.info('monday')) ?? {};
  await log.fork('monday', { into: 'copy', through });
  await createAgent({ log, provider: scriptedProvider(['Wind.']) }).run('And?', { session: 'copy' })
    .result;
  await close();
  const { stdout } = await diff({ a: 'copy', b: undefined });
  expect(stdout).toMatch(/^a {2}monday .*\nb {2}copy /);
  expect(stdout).toContain('First divergence: turn 3, another command\na  no such record\n');
  expect(stdout).toContain('+ And?');
  const none = diff({ a: 'monday', b: undefined });
  await expect(none).rejects.toThrow('Session monday is not a fork');
});

test('text of a session cannot control the terminal', async () => {
  await record(['sun', 'rain\u001b]52;c;eA==\u0007\u001b[2J']);
  const { stdout } = await diff({}, new CapturedOutput({ isTTY: true }));
  expect(stdout).toContain('␛[2J');
  expect(stdout).not.toContain('\u001b[2J');
  expect(stdout).not.toContain('\u001b]52');
});

test('both sessions have to exist, and a full disk is an error', async () => {
  await record(['sun', 'rain']);
  await expect(diff({ b: 'nope' })).rejects.toMatchObject({ code: 'no_such_session' });
  expect((await diff({}, new FailingOutput('EPIPE', 1))).code).toBe(exitCodes.done);
  const full = diff({}, new FailingOutput('ENOSPC', 1));
  await expect(full).rejects.toMatchObject({ code: 'cannot_write' });
});
