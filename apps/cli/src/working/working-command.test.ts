import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { createAgent, defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { Host } from '../contract/host.ts';
import { openStore } from '../store/open-store.ts';
import { sessionNames } from '../store/session-names.ts';
import { userItem } from '../store/session-summaries.ts';
import { FakeKeyboard } from '../testing/fake-terminal.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { toolCall } from '../testing/run-print.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { workingCommand } from './working-command.ts';
import { workingSessions } from './working-sessions.ts';

const folder = temporaryFolder('working');
const top = { command: 'top', color: true } as const;

/** Starts a session whose tool runs until the test ends it. */
async function startSession(session = 'orders') {
  const store = join(folder(), 'sessions.db');
  const { log, close } = await openStore({ config: { store }, env: {} });
  const started = Promise.withResolvers<void>();
  const end = Promise.withResolvers<string>();
  const refund = defineTool({
    ...{ name: 'refund', description: 'Refunds an order', input: z.object({}) },
    execute: () => {
      started.resolve();
      return end.promise;
    },
  });
  const usage = { input: 1200, output: 20, costs: [{ amount: '0.25', currency: 'USD' }] };
  const provider = scriptedProvider([
    { content: { parts: [toolCall('c1', 'refund', {})] }, usage },
    'Done\u001b]0;owned\u0007.',
  ]);
  const agent = createAgent({ log, provider, tools: [refund] });
  const message = userItem(['Where is my \u001b[31mrefund?'], { cwd: folder() });
  const run = agent.run(message, { session: sessionId(session) });
  await started.promise;
  const finish = async () => {
    end.resolve('Refunded');
    await run.result;
  };
  onTestFinished(async () => {
    await finish();
    await close();
  });
  return { finish, env: { MILLRACE_STORE: store, HOME: folder(), XDG_CONFIG_HOME: folder() } };
}

function hostOf(env: Host['env'], isTTY = false) {
  const [stdin, stdout, stderr] = [
    new FakeKeyboard(),
    new CapturedOutput({ isTTY }),
    new CapturedOutput(),
  ];
  const signal = new AbortController().signal;
  const host = { ...{ argv: [], env, cwd: folder(), stdin, stdout, stderr, signal } };
  return { host, stdin, stdout, stderr };
}

test('25: ps and top print what a session does now, its turn, tokens and cost', async () => {
  const { env, finish } = await startSession();
  const ps = hostOf(env);
  await workingCommand({ command: 'ps', json: true, color: true }, ps.host);
  expect(JSON.parse(ps.stdout.text)).toMatchObject([
    {
      ...{ id: 'orders', state: 'running', activity: 'running refund', turn: 1, tokens: 1220 },
      costs: [{ amount: '0.25', currency: 'USD' }],
    },
  ]);
  const once = hostOf(env);
  expect(await workingCommand(top, once.host)).toBe(0);
  expect(once.stdout.text).toMatch(/orders +running refund +\d.* s +1 +1\.2k +\$0\.250 .*refund\?/);
  expect(once.stdout.text).not.toContain('\u001b');
  await finish();
  const idle = hostOf(env);
  await workingCommand(top, idle.host);
  expect([idle.stdout.text, idle.stderr.text]).toEqual(['', 'No session has work.\n']);
});

test('ps and top print the name of a session that the user named', async () => {
  const { env } = await startSession('refunds');
  await sessionNames({ store: env.MILLRACE_STORE }, env).set(sessionId('refunds'), 'May refunds');
  for (const args of [{ command: 'ps', json: false, color: true } as const, top]) {
    const { host, stdout } = hostOf(env);
    await workingCommand(args, host);
    expect(stdout.text).toMatch(/refunds .* May refunds\n/);
  }
});

test.each([80, 40])('ps and top fit a terminal with %i columns', async (columns) => {
  const { env } = await startSession();
  for (const args of [{ command: 'ps', json: false, color: true } as const, top]) {
    const { host, stdin, stdout } = hostOf(env, true);
    const sized = { ...host, stdout: Object.assign(stdout, { columns, rows: 16 }) };
    const ended = workingCommand(args, sized);
    await expect.poll(() => stdout.text).toMatch(/orders +running/);
    stdin.write('q');
    await ended;
    const lines = stripVTControlCharacters(stdout.text).split(/[\r\n]+/);
    expect(lines.find((line) => line.includes('orders'))).toContain('Where');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
  }
});

test('each frame of top lists the store once, however many sessions have work', async () => {
  const { env } = await startSession();
  const { log, close } = await openStore({ config: { store: env.MILLRACE_STORE }, env: {} });
  onTestFinished(close);
  await startSession('flights');
  const list = vi.spyOn(log, 'list');
  const { sessions, short } = await workingSessions(log);
  expect(sessions.map(({ id }) => short(id)).toSorted()).toEqual(['flights', 'orders']);
  // The second list has only the sessions without a live driver.
  expect(list.mock.calls).toEqual([[], [{ isWaiting: true }]]);
});

test.each([
  ['q', 'q'],
  ['Ctrl-C', '\u0003'],
  ['Esc', '\u001b'],
])('25: top fills the screen of a terminal until %s, and restores it', async (_, key) => {
  const { env } = await startSession();
  const { host, stdin, stdout } = hostOf(env, true);
  const ended = workingCommand(top, host);
  await expect.poll(() => stdout.text).toContain('running refund');
  expect(stdout.text).toContain('1 session with work, 0 waiting for you · q closes');
  stdin.write(key);
  expect(await ended).toBe(0);
  expect(stdout.text.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
  expect(stdout.text.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
  expect(stdout.text).not.toContain('\u001b[31m');
});
