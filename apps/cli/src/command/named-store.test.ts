import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createAgent, defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { startScriptedServer } from '@millrace/providers/scripted-server';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openStore } from '../store/open-store.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runCommand } from './run-command.ts';

const folder = temporaryFolder('named-store');

async function run(argv: readonly string[], piped = '') {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const code = await runCommand({
    ...{ argv, stdout, stderr, cwd: folder(), stdin: Readable.from([Buffer.from(piped)]) },
    ...{ env: { HOME: join(folder(), 'home') }, signal: new AbortController().signal },
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** Writes sessions as a program does that has its own store, and no folders. */
async function record(store: string, ...sessions: readonly string[]): Promise<string> {
  const { log, close } = await openStore({ config: { store: join(folder(), store) }, env: {} });
  for (const session of sessions) {
    const agent = createAgent({ log, provider: scriptedProvider(['It is sunny.']) });
    await agent.run('The weather?', { session }).result;
  }
  await close();
  return store;
}

/** Returns the words of a printed command, as a shell splits them. */
function wordsOf(command: string): readonly string[] {
  const words = execFileSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' });
  const [program, ...argv] = words.trimEnd().split('\n');
  expect(program).toBe('millrace');
  return argv;
}

describe('25: a store that does not exist', () => {
  test.each([
    'sessions',
    'sessions show last',
    'sessions export last',
    'sessions delete last --yes',
    'sessions pin last --agents agents.ts',
    'inspect last',
    'replay last',
    'diff a b',
    'verify last',
    'sql VALUES(1)',
    'report last --yes',
    'test monday --agents agents.ts',
    'ps',
    'top',
    'branch last --at 1 --text Hi --model demo',
    '-p Hi --resume monday --model demo',
  ])('is refused by millrace %s, and not created', async (command) => {
    const module = 'export const a = () => ({ run() {}, resume() {} });';
    writeFileSync(join(folder(), 'agents.ts'), module);
    const { code, stdout, stderr } = await run([
      ...command.split(' '),
      '--store',
      'data/mistyped.db',
    ]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const path = join(folder(), 'data/mistyped.db');
    expect(stderr).toContain(`There is no session store at ${path}. Correct --store <file>`);
    expect(existsSync(join(folder(), 'data'))).toBe(false);
  });

  test('is created by an import, and the default store by each command', async () => {
    const store = await record('exported.db', 'monday');
    const { stdout: lines } = await run(['sessions', 'export', 'monday', '--store', store]);
    const imported = await run(['sessions', 'import', '--store', 'new.db'], lines);
    expect(imported).toEqual({ code: 0, stdout: 'monday\n', stderr: '' });
    expect(await run(['sessions'])).toMatchObject({ code: 0, stdout: '' });
    expect((await run(['eval', 'missing.ts', '--store', 'evals.db'])).code).toBe(1);
    expect(existsSync(join(folder(), 'evals.db'))).toBe(false);
  });
});

describe('25: the store of a program', () => {
  test('has a last session for commands that read', async () => {
    const store = await record('runs.db', 'monday', 'tuesday');
    const shown = await run(['sessions', 'show', 'last', '--store', store]);
    expect(shown.stdout).toContain('# Session tuesday');
    expect((await run(['inspect', 'last', '--store', store])).code).toBe(0);
    // Only a session of the folder is continued or deleted.
    for (const argv of [
      ['sessions', 'delete', 'last', '--yes'],
      ['-p', 'And now?', '--continue', '--model', 'demo'],
    ]) {
      const { code, stderr } = await run([...argv, '--store', store]);
      expect(code).toBe(1);
      const [, hint = ''] = /no last session of the folder .*: (millrace .*)\n$/.exec(stderr) ?? [];
      expect((await run(wordsOf(hint))).stdout).toContain('tuesday');
    }
  });

  test('without a session has no last session', async () => {
    const { stderr } = await run(['inspect', 'last', '--store', await record('empty.db')]);
    expect(stderr).toContain(`There is no last session: ${join(folder(), 'empty.db')} has no`);
  });

  test('is named by each printed command', async () => {
    mkdirSync(join(folder(), 'my runs'), { recursive: true });
    const store = await record("my runs/it's.db", 'monday');
    const list = await run(['sessions', '--store', store]);
    const [hint = ''] = /millrace sessions --all .*/.exec(list.stderr) ?? [];
    expect((await run(wordsOf(hint))).stdout).toContain('monday');
    const none = await run(['diff', 'nothing', 'monday', '--store', store]);
    const [way = ''] = /millrace sessions --all .*/.exec(none.stderr) ?? [];
    expect((await run(wordsOf(way))).stdout).toContain('monday');
  });

  test('is named by the command that compares a branch with its session', async () => {
    mkdirSync(join(folder(), 'my runs'), { recursive: true });
    const store = 'my runs/branch.db';
    await using server = await startScriptedServer();
    server.answer({ text: 'It is sunny.' });
    const models = { test: { provider: 'compatible', model: 'any', baseUrl: `${server.url}/v1` } };
    writeFileSync(join(folder(), 'config.json'), JSON.stringify({ model: 'test', models }));
    const argv = [
      'branch',
      'last',
      '--at',
      '3',
      '--text',
      'And in Oslo?',
      '--config',
      'config.json',
    ];
    await run(['-p', 'The weather?', '--config', 'config.json', '--store', store]);
    server.answer({ text: 'It rains.' });
    const { code, stderr } = await run([...argv, '--store', store]);
    expect(code).toBe(0);
    const [, hint = ''] = /Compare the branch with its session: (.*)\n/.exec(stderr) ?? [];
    const compared = await run(wordsOf(hint));
    expect(compared.stdout).toContain('First divergence');
    server.answer({ text: 'Hello.' });
    const created = await run(['-p', 'Hi', '--config', 'config.json', '--store', 'first.db']);
    expect(created).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  });
});

describe('25: a branch of a session that another program recorded', () => {
  /** Writes a module with the agent of the program. Its tool appends a line to the file `ran`. */
  function writeModule(): void {
    const source = (path: string) =>
      JSON.stringify(new URL(`../../../../packages/${path}`, import.meta.url).href);
    const text = `import { appendFileSync } from 'node:fs';
import { createAgent, defineTool } from ${source('agent/src/index.ts')};
import { scriptedProvider } from ${source('providers/src/scripted/index.ts')};
const input = { '~standard': {
  version: 1, vendor: 'test', validate: (value) => ({ value }),
  jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
} };
const search = defineTool({
  name: 'search_flights', description: 'Finds flights', input,
  execute: async () => appendFileSync(${JSON.stringify(join(folder(), 'ran'))}, 'x') ?? 'none today',
});
export const desk = ({ log }) =>
  createAgent({ log, tools: [search], provider: scriptedProvider(['There is no flight.']) });
export const shop = ({ log }) => createAgent({ log, provider: scriptedProvider(['No.']) });
`;
    writeFileSync(join(folder(), 'desk.ts'), text);
  }

  /** Records a call of `search_flights`. Returns the store and the offset of the end of the first turn. */
  async function recordTrip(session: string, path: string) {
    const { log, close } = await openStore({ config: { store: join(folder(), path) }, env: {} });
    const input = z.object({ to: z.string() });
    const search = { name: 'search_flights', description: 'Finds flights', input };
    const agent = createAgent({
      log,
      tools: [defineTool({ ...search, execute: async () => 'SK 4035' })],
      provider: scriptedProvider([
        toolCall('search_flights', { to: 'Oslo' }, 'c1'),
        'I booked SK 4035.',
      ]),
    });
    const parts = [{ kind: 'text', text: 'Fly me to Oslo' }] as const;
    const message = { kind: 'user', parts, metadata: { cwd: folder() } } as const;
    await agent.run(message, { session }).result;
    const { records } = await log.read(sessionId(session));
    await close();
    const at = records.find(({ fact }) => fact?.type === 'turn_finished')?.offset ?? 0;
    return ['--at', String(at), '--store', path];
  }

  test.each([
    ['without a folder', 'monday', 'its first message names no folder'],
    ['with a name', 'trip', 'the terminal does not give such ids'],
    ['with other tools', '0123456789abcdef01234567', 'it ran the tool search_flights, which'],
  ])('is refused without --agents: a session %s', async (_what, session, why) => {
    const path = `refused-${session}.db`;
    const place =
      session === 'monday'
        ? ['--at', '3', '--store', await record(path, session)]
        : await recordTrip(session, path);
    const argv = ['branch', session, ...place, '--text', 'Hi', '--model', 'demo'];
    const { code, stdout, stderr } = await run(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`another agent recorded it, because ${why}`);
    expect(stderr).toContain(`millrace branch --at <record> --agents agents.ts ${session} --store`);
    const { stdout: list } = await run(['sessions', '--all', '--store', path]);
    expect(list.trim().split('\n')).toHaveLength(1);
  });

  test('runs with the agent of --agents and its tools', async () => {
    writeModule();
    const place = await recordTrip('flight', 'agents.db');
    const argv = ['branch', 'flight', ...place, '--rerun', 'search_flights'];
    const module = ['--agents', 'desk.ts', '--agent'];
    const { code, stdout, stderr } = await run([...argv, ...module, 'desk']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'There is no flight.\n' });
    expect(readFileSync(join(folder(), 'ran'), 'utf8')).toBe('x');
    const [, hint = ''] = /Compare the branch with its session: (.*)\n/.exec(stderr) ?? [];
    expect((await run(wordsOf(hint))).stdout).toContain('none today');
    const unknown = await run([...argv, '--agents', 'desk.ts']);
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toContain('The agents of the module with a loop: desk, shop');
    expect((await run([...argv, '--agent', 'desk'])).stderr).toContain('--agents <file>');
  });
});

test('25: ids in lists and in messages can be pasted', async () => {
  const runs = ['france', 'italy'].map((name) => `eval/capitals/brief/${name}/1/0123456789abcdef`);
  const ids = [
    'eval/capitals',
    ...runs,
    `${runs[0]}/polite/0123456789abcdef/1`,
    'support-7001',
    'support-7002',
  ];
  const store = await record('ids.db', ...ids);
  const { stdout } = await run(['sessions', '--all', '--store', store]);
  const listed = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '');
  const ambiguous = await run(['inspect', 'eval/cap', '--store', store]);
  const named = /start with it \((.*)\)/.exec(ambiguous.stderr)?.[1]?.split(', ') ?? [];
  expect(listed.toSorted()).toEqual([
    'eval/capitals',
    'eval/capitals/brief/france/1/0123456789abcdef',
    'eval/capitals/brief/france/1/0123456789abcdef/polite',
    'eval/capitals/brief/italy',
    'support-7001',
    'support-7002',
  ]);
  expect(named).toHaveLength(4);
  for (const id of [...listed, ...named]) {
    const shown = await run(['sessions', 'show', id, '--store', store]);
    expect([id, shown.code]).toEqual([id, 0]);
  }
});
