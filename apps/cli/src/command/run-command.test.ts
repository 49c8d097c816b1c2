import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { type ScriptedServer, startScriptedServer } from '@millrace/providers/scripted-server';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { collector } from '../../../../packages/client/src/testing/collector.ts';
import type { Host } from '../contract/host.ts';
import { version } from '../package-files.ts';
import { CapturedOutput, FailingOutput } from '../testing/output-streams.ts';
import { runCommand } from './run-command.ts';

let root: string;
let cwd: string;
let server: ScriptedServer;
beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-command-')));
  cwd = join(root, 'project');
  mkdirSync(cwd);
  server = await startScriptedServer();
  const models = { test: { provider: 'compatible', model: 'any', baseUrl: `${server.url}/v1` } };
  mkdirSync(join(root, 'home/.config/millrace'), { recursive: true });
  // Not all machines have a sandbox, and without one the command prints a warning.
  const user = { model: 'test', models, sandbox: { profile: 'off' } };
  writeFileSync(join(root, 'home/.config/millrace/config.json'), JSON.stringify(user));
});
afterEach(async () => {
  await server.close();
  rmSync(root, { recursive: true });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  argv: readonly string[],
  given: Partial<Host> & { piped?: string } = {},
): Promise<Ended> {
  const { piped = '', ...host } = given;
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const code = await runCommand({
    ...{ argv, cwd, stdout, stderr, stdin: Readable.from([Buffer.from(piped)]) },
    env: { HOME: join(root, 'home') },
    signal: new AbortController().signal,
    ...host,
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

const said = () => server.requests.map(({ body }) => JSON.stringify(body));
const store = () => join(root, 'home/.local/share/millrace/sessions.db');

describe('what needs no model', () => {
  test('the version and the help are printed', async () => {
    expect(await run(['--version', '--json'])).toEqual({
      code: 0,
      stdout: `${version()}\n`,
      stderr: '',
    });
    const help = await run(['sessions', '-h']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('Usage:\n  millrace sessions');
  });

  test('wrong usage is one line on standard error, and 2', async () => {
    const { code, stdout, stderr } = await run(['--modle', 'x']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^millrace: Unknown flag --modle\. Did you mean --model\? .*\n$/);
  });

  test('a reader that left is no error, a full disk is', async () => {
    expect((await run(['--help'], { stdout: new FailingOutput('EPIPE') })).code).toBe(0);
    const full = await run(['--help'], { stdout: new FailingOutput('ENOSPC') });
    expect(full).toMatchObject({ code: 1, stderr: expect.stringContaining('the disk is full') });
  });

  test('a folder that is none, and a configuration that cannot be used, are wrong usage', async () => {
    const gone = await run(['-p', 'x', '--cwd', 'gone']);
    expect(gone).toMatchObject({ code: 2, stdout: '' });
    expect(gone.stderr).toContain(`Cannot work in ${join(cwd, 'gone')}: the folder does not exist`);
    writeFileSync(join(cwd, 'millrace.json'), '{ "modle": 1 }');
    const bad = await run(['-p', 'x']);
    expect(bad).toMatchObject({ code: 2, stdout: '' });
    expect(bad.stderr).toContain('millrace.json:1:3: modle is unknown. Did you mean model?');
  });
});

describe('a print', () => {
  test('is answered by the model that is configured, and is kept', async () => {
    server.answer({ text: 'It turns.' });
    expect(await run(['-p', 'The weather?'])).toMatchObject({ code: 0, stdout: 'It turns.\n' });
    expect(said()[0]).toContain('The weather?');
    expect(existsSync(store())).toBe(true);
  });

  test('goes on with the last session of its folder', async () => {
    server.answer({ text: 'It turns.' });
    await run(['-p', 'The weather?']);
    server.answer({ text: 'Still.' });
    expect(await run(['-p', '-c', 'And now?'])).toMatchObject({ code: 0, stdout: 'Still.\n' });
    expect(said()[1]).toContain('It turns.');
    const other = join(root, 'other');
    mkdirSync(other);
    expect(await run(['-p', '-c', 'And now?', '--cwd', '../other'])).toMatchObject({
      code: 1,
      stdout: '',
    });
  });

  test('parks where nobody can approve, and runs with --yes', async () => {
    const write = { name: 'write', arguments: JSON.stringify({ path: 'a.txt', content: 'hello' }) };
    server.answer({ toolCalls: [write] });
    expect(await run(['-p', 'Write'])).toMatchObject({ code: 4 });
    expect(existsSync(join(cwd, 'a.txt'))).toBe(false);
    expect(await run(['-p', '--continue', '--deny', 'write'])).toMatchObject({ code: 4 });
    server.answer({ text: 'Written after all.' });
    const allowed = await run(['-p', '--continue', '--allow', 'write:*.txt']);
    expect(allowed).toEqual({ code: 0, stdout: 'Written after all.\n', stderr: '' });
    expect(existsSync(join(cwd, 'a.txt'))).toBe(true);
    rmSync(join(cwd, 'a.txt'));
    server.answer({ toolCalls: [write] });
    server.answer({ text: 'Written.' });
    expect(await run(['-p', 'Write', '--yes'])).toMatchObject({ code: 0, stdout: 'Written.\n' });
    expect(existsSync(join(cwd, 'a.txt'))).toBe(true);
  });

  test('tells the collector of --otlp all of it, what sub-agents do too, as one trace', async () => {
    const { url, spans } = await collector();
    const task = { agent: 'explore', task: 'Look around' };
    server.answer({ toolCalls: [{ name: 'task', arguments: JSON.stringify(task) }] });
    server.answer({ text: 'A forecast.' });
    server.answer({ text: 'It turns.' });
    const told = await run(['-p', 'The weather?', '--otlp', url]);
    expect(told).toEqual({ code: 0, stdout: 'It turns.\n', stderr: '' });
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    const names = spans.map(({ name }) => name);
    expect(names).toContain('execute_tool task');
    expect(names.filter((name) => name.startsWith('invoke_agent'))).toHaveLength(2);
  });

  test('is the same without the collector that it was given, and says so at the end', async () => {
    server.answer({ text: 'It turns.' });
    const { code, stdout, stderr } = await run([
      '-p',
      'The weather?',
      '--otlp',
      `${server.url}/no`,
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'It turns.\n' });
    expect(stderr).toMatch(/^The collector did not take \d+ spans: .*\n$/);
    const wrong = await run(['-p', 'The weather?', '--otlp', 'nowhere']);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('http://localhost:4318');
  });

  test('says what it left out of a file that nobody trusts', async () => {
    writeFileSync(
      join(cwd, 'millrace.json'),
      JSON.stringify({ permissions: { allow: ['write'] } }),
    );
    server.answer({ text: 'Hello.' });
    const { code, stdout, stderr } = await run(['-p', 'Hello']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello.\n' });
    expect(stderr).toContain('permissions.allow of');
    expect(stderr).toContain('--trust');
  });

  test('takes paths from where they were typed', async () => {
    mkdirSync(join(cwd, 'sub'));
    server.answer({ text: 'Hello.' });
    await run(['-p', 'Hello', '--cwd', 'sub', '--store', 'own.db']);
    expect(existsSync(join(cwd, 'own.db'))).toBe(true);
    const exported = await run(['sessions', 'export', 'last', '--cwd', 'sub', '--store', 'own.db']);
    writeFileSync(join(cwd, 'talk.jsonl'), exported.stdout);
    const [, id] = /"session":"(\w+)"/.exec(exported.stdout) ?? [];
    const imported = await run(['sessions', 'import', 'talk.jsonl', '--cwd', 'sub']);
    expect(imported).toEqual({ code: 0, stdout: `${id}\n`, stderr: '' });
  });

  test('takes paths of the environment from where it was typed, too', async () => {
    mkdirSync(join(cwd, 'sub'));
    writeFileSync(join(cwd, 'own.json'), JSON.stringify({ model: 'demo' }));
    const HOME = join(root, 'home');
    const env = { HOME, MILLRACE_STORE: 'env.db', MILLRACE_CONFIG: 'own.json' };
    const ended = await run(['-p', 'Hello', '--cwd', 'sub', '--read-only'], { env });
    expect(ended.code).toBe(0);
    expect(existsSync(join(cwd, 'env.db'))).toBe(true);
  });
});

describe('without a terminal and without -p', () => {
  test('what is piped in is the prompt', async () => {
    server.answer({ text: 'It turns.' });
    const ended = await run([], { piped: 'The weather?\n' });
    expect(ended).toMatchObject({ code: 0, stdout: 'It turns.\n' });
    expect(said()[0]).toContain('The weather?');
  });

  test('and with words, it is their context', async () => {
    server.answer({ text: 'It turns.' });
    expect(await run(['What', 'does', 'it', 'do?'], { piped: 'A forecast.' })).toMatchObject({
      code: 0,
    });
    expect(said()[0]).toContain('What does it do?');
    expect(said()[0]).toContain('A forecast.');
  });

  test('with nothing at all the demo takes one turn, of which nothing is kept', async () => {
    writeFileSync(join(cwd, 'README.md'), '# Weather station\n');
    const stderr = new CapturedOutput({ isTTY: true });
    const { code, stdout } = await run([], { stderr });
    expect(code).toBe(0);
    expect(stdout).toContain('Weather station');
    expect(stderr.text).toContain('tokens in');
    expect(stderr.text).not.toMatch(/session|--resume/i);
    expect(server.requests).toEqual([]);
    expect(existsSync(store())).toBe(false);
  });

  test('23.6: an empty prompt is wrong usage, and not a wish for the demo', async () => {
    const { code, stdout, stderr } = await run(['']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/the prompt is empty.*millrace -p "/);
    expect(server.requests).toEqual([]);
  });

  test('23.2: a limit of the cost without a price is an error, and no request is sent', async () => {
    const { code, stdout, stderr } = await run(['-p', 'Hello', '--max-cost', '1']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/Cannot limit the cost of .*its price is unknown.*"prices"/s);
    expect(server.requests).toEqual([]);
  });

  test('23.3: the tokens of sub-agents count, and are shown beside those of the agent', async () => {
    const usage = { input: 100, output: 10 };
    const task = { agent: 'explore', task: 'Look around' };
    server.answer({ toolCalls: [{ name: 'task', arguments: JSON.stringify(task) }], usage });
    server.answer({ text: 'I saw it.', usage });
    server.answer({ text: 'Done.', usage });
    const { stdout, stderr } = await run(['-p', 'Look', '--verbose', '--yes']);
    expect(stdout).toBe('Done.\n');
    expect(stderr).toContain('300 tokens in, 30 out (of these explore: 100 tokens in, 10 out)');
  });

  test('23.10: init lets the agent write AGENTS.md and no other file', async () => {
    const call = (path: string) => ({
      name: 'write',
      arguments: JSON.stringify({ path, content: '# Rules\n' }),
    });
    server.answer({ toolCalls: [call('AGENTS.md')] });
    server.answer({ text: 'Written.' });
    expect(await run(['init'])).toMatchObject({ code: 0, stdout: 'Written.\n' });
    expect(said()[0]).toContain('Write AGENTS.md in this folder');
    expect(readFileSync(join(cwd, 'AGENTS.md'), 'utf8')).toBe('# Rules\n');
    rmSync(join(cwd, 'AGENTS.md'));
    server.answer({ toolCalls: [call('CLAUDE.md')] });
    expect(await run(['init'])).toMatchObject({ code: 4 });
    expect(existsSync(join(cwd, 'CLAUDE.md'))).toBe(false);
    server.answer({ text: 'I have nothing to add.' });
    const { code, stderr } = await run(['init']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('The model did not write')]);
  });

  test('23.10: init never overwrites AGENTS.md, and needs a model', async () => {
    const { code, stderr } = await run(['init', '--model', 'demo']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('needs a model')]);
    writeFileSync(join(cwd, 'AGENTS.md'), 'Mine');
    const again = await run(['init', '--yes']);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('exists already')]);
    expect(readFileSync(join(cwd, 'AGENTS.md'), 'utf8')).toBe('Mine');
    expect(server.requests).toEqual([]);
  });

  test('nobody can choose a session', async () => {
    const ended = await run(['--resume']);
    expect(ended).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('needs an id'),
    });
  });
});

describe('at a terminal, before the chat', () => {
  const atTerminal = () => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    return { stdin, stdout: new CapturedOutput({ isTTY: true }) };
  };

  test('there has to be a session to choose', async () => {
    const { code, stderr } = await run(['--resume'], atTerminal());
    expect(code).toBe(1);
    expect(stderr).toContain('There is no last session of the folder');
  });

  test("a project's file lists what it requests, and a user who leaves has trusted nothing", async () => {
    const mcpServers = { a: { command: 'anything' } };
    writeFileSync(join(cwd, 'millrace.json'), JSON.stringify({ mcpServers }));
    const { stdin, stdout } = atTerminal();
    const ended = run([], { stdin, stdout });
    stdin.end();
    expect((await ended).code).toBe(3);
    expect(stdout.text).toContain(`${join(cwd, 'millrace.json')} wants to:\n  - start programs`);
    expect(existsSync(join(root, 'home/.config/millrace/folders.json'))).toBe(false);
  });
});

describe('what was printed before', () => {
  beforeEach(async () => {
    server.answer({ text: 'It turns.' });
    await run(['-p', 'The weather?']);
  });

  test.each([
    ['sessions', 'The weather?'],
    ['sessions show last', 'It turns.'],
    ['replay last --speed max', 'It turns.'],
    ['inspect last', 'run_started'],
  ])('can be seen again: %s', async (line, shown) => {
    const { code, stdout } = await run(line.split(' '));
    expect(code).toBe(0);
    expect(stdout).toContain(shown);
  });

  test('is of its folder: elsewhere it is found by its id alone', async () => {
    const [session] = JSON.parse((await run(['sessions', '--json'])).stdout) as [{ id: string }];
    const elsewhere = { cwd: root };
    expect((await run(['sessions', '--json'], elsewhere)).stdout).not.toContain(session.id);
    expect((await run(['sessions', '--all', '--json'], elsewhere)).stdout).toContain(session.id);
    expect((await run(['replay', 'last'], elsewhere)).code).toBe(1);
    expect((await run(['inspect', session.id.slice(0, 12)], elsewhere)).code).toBe(0);
  });
});

test('the doctor says what is wrong with a configuration instead of failing at it', async () => {
  writeFileSync(join(cwd, 'millrace.json'), '{ "modle": 1 }');
  const { code, stdout } = await run(['doctor', '--no-color']);
  expect(code).toBe(1);
  expect(stdout).toContain('modle is unknown. Did you mean model?');
});
