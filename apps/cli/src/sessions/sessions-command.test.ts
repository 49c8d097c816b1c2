import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { createAgent, defineTool } from '@millrace/agent';
import { type SessionId, sessionId } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import type { SessionsArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import { exitCodes } from '../exit-code.ts';
import { quietMs, settleMs } from '../input/answer/answer-guard.ts';
import type { InputStream } from '../print/piped-input.ts';
import { openStore } from '../store/open-store.ts';
import { sessionNames } from '../store/session-names.ts';
import { CapturedOutput, FailingOutput } from '../testing/output-streams.ts';
import { toolCall } from '../testing/run-print.ts';
import { collect, finishedSession, withSubAgent } from '../testing/sessions.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { sessionsCommand } from './sessions-command.ts';

const folder = temporaryFolder('sessions');
const cwd = '/here';
let count = 0;
let store: string;
beforeEach(() => {
  store = join(folder(), `${++count}.db`);
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  args: Partial<SessionsArgs>,
  stdin: InputStream = Readable.from([]),
  at = store,
  clock?: VirtualClock,
): Promise<Ran> {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const code = await sessionsCommand({
    args: {
      ...{ command: 'sessions', action: 'list', operands: [], all: false, json: false },
      ...{ yes: false, color: true },
      ...args,
    },
    config: { store: at },
    ...{ stdin, stdout, stderr, cwd, env: {}, signal: new AbortController().signal, clock },
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

async function inStore<T>(use: (log: Log) => Promise<T>, at = store): Promise<T> {
  const { log, close } = await openStore({ config: { store: at }, env: {} });
  try {
    return await use(log);
  } finally {
    await close();
  }
}

const idsIn = (at = store) =>
  inStore(async (log) => (await log.list()).map(({ session }) => session), at);

const recordsIn = async (session: SessionId, at = store) =>
  inStore(async (log) => collect(readRecords(log, session)), at);

describe('list', () => {
  test('has those of this folder, and says that there are others', async () => {
    await inStore(async (log) => {
      await finishedSession(log, 'aaaabbbbcccc', 'First', { cwd });
      await finishedSession(log, 'other', 'Elsewhere', { cwd: '/there' });
    });
    const { code, stdout, stderr } = await run({});
    expect(code).toBe(exitCodes.done);
    expect(stdout).toMatch(/^aaaabbbb {2}\d{4}-\d\d-\d\d \d\d:\d\d {2,}First\n$/);
    expect(stderr).toBe('1 more in other folders: millrace sessions --all\n');
  });

  test('has the name of a session that the user named', async () => {
    await inStore((log) => finishedSession(log, 'invoices', 'First', { cwd }));
    await sessionNames({ store }, {}).set(sessionId('invoices'), 'May invoices');
    expect((await run({})).stdout).toMatch(/^invoices .* {2}May invoices\n$/);
    const { stdout } = await run({ json: true });
    expect(JSON.parse(stdout)).toMatchObject([{ title: 'First', name: 'May invoices' }]);
  });

  test('with --all has this folder’s first, each with its folder', async () => {
    await inStore(async (log) => {
      await finishedSession(log, 'one', 'First', { cwd });
      await finishedSession(log, 'two', 'Second', { cwd: '/there' });
    });
    const { stdout, stderr } = await run({ all: true });
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^one .*\/here {2}.*First$/);
    expect(lines[1]).toMatch(/^two .*\/there {2}.*Second$/);
    expect(stderr).toBe('');
  });

  test('as JSON is one document, also where there is none', async () => {
    await inStore(async () => {});
    expect((await run({ json: true })).stdout).toBe('[]\n');
    await inStore((log) => finishedSession(log, 'one', 'First', { cwd }));
    const { stdout } = await run({ json: true });
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'one', title: 'First', cwd, hasWork: false }]);
  });

  test('says what to do where there is none, and leaves the output empty', async () => {
    await inStore(async () => {});
    const { stdout, stderr } = await run({});
    expect([stdout, stderr]).toEqual([
      '',
      'There are no sessions of /here yet. Start one with millrace\n',
    ]);
  });

  test('does not let what was said control the terminal', async () => {
    await inStore((log) => finishedSession(log, 'one', '\u001b[2Jclear', { cwd }));
    expect((await run({})).stdout).not.toContain('\u001b');
  });
});

describe('show', () => {
  test('is the transcript as Markdown: people, answers, thoughts, calls and results', async () => {
    await inStore(async (log) => {
      const read = defineTool({
        ...{ name: 'read', description: 'Reads', input: z.object({ path: z.string() }) },
        execute: async () => '# A\n```\ncode\n```',
      });
      const thought = { kind: 'reasoning', form: 'full', text: 'Hm.\nWell.' } as const;
      const parts = [thought, 'I read.', toolCall('c1', 'read', { path: 'a.md' })];
      const provider = scriptedProvider([{ content: { parts } }, 'It is **A**.']);
      const agent = createAgent({ provider, log, tools: [read] });
      await agent.run('What is it?', { session: sessionId('one') }).result;
    });
    const { stdout } = await run({ action: 'show', operands: ['one'] });
    const [head, about, ...rest] = stdout.split('\n\n');
    expect([head, about]).toEqual(['# Session one', expect.stringMatching(/^no folder, \d{4}-/)]);
    expect(rest.join('\n\n')).toBe(
      [
        '## You\n\nWhat is it?',
        '## Assistant\n\n> Hm.\n> Well.\n\nI read.\n\n**read**\n\n```json\n{"path":"a.md"}\n```',
        '## Tools\n\n*read:*\n\n````\n# A\n```\ncode\n```\n````',
        '## Assistant\n\nIt is **A**.\n',
      ].join('\n\n'),
    );
  });

  test('18.344: attack: a transcript in a pipe does not control the terminal behind it', async () => {
    const hostile = '\u001b]0;evil\u0007\u001b[2J\u009b2J\u202eabc\r';
    await inStore(async (log) => {
      const provider = scriptedProvider([`answer ${hostile}`]);
      await createAgent({ provider, log }).run(`asked ${hostile}`, { session: sessionId('one') })
        .result;
    });
    const { stdout } = await run({ action: 'show', operands: ['one'] });
    expect(stdout).toContain('## You\n\nasked ␛]0;evil');
    expect(stdout).toContain('answer ␛]0;evil');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test searches for them
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  test('says that an answer was stopped', async () => {
    await inStore(async (log) => {
      const fault = { type: 'stall', after: 2 } as const;
      const provider = scriptedProvider([{ content: { parts: ['Yes'] }, fault }]);
      const run = createAgent({ provider, log }).run('Well?', { session: sessionId('one') });
      for await (const event of run.events)
        if (event.type === 'assistant_text_delta') await run.abort();
    });
    const { stdout } = await run({ action: 'show', operands: ['one'] });
    expect(stdout).toMatch(/## Assistant\n\nYe?\n\n\*\(stopped\)\*\n$/);
  });
});

describe('delete', () => {
  test('takes the session and those of its sub-agents, where that was meant', async () => {
    await inStore(async (log) => {
      await withSubAgent(log, 'one', cwd);
      await finishedSession(log, 'two', 'Stays', { cwd });
    });
    expect(await idsIn()).toHaveLength(3);
    const { code, stderr } = await run({ action: 'delete', operands: ['one'], yes: true });
    expect([code, stderr]).toEqual([0, 'Deleted session one and 1 of its sub-agents\n']);
    expect(await idsIn()).toEqual(['two']);
  });

  test('leaves the sub-agents that a fork speaks of', async () => {
    const child = await inStore(async (log) => {
      const made = await withSubAgent(log, 'one', cwd);
      const { through = 0 } = (await log.info(made.session)) ?? {};
      await log.fork(made.session, { into: sessionId('fork'), through });
      return made.child;
    });
    await run({ action: 'delete', operands: ['one'], yes: true });
    expect([...(await idsIn())].sort()).toEqual([child, 'fork'].sort());
  });

  test.each([
    ['y', exitCodes.done, []],
    ['n', exitCodes.aborted, ['one']],
    ['\r', exitCodes.aborted, ['one']],
    ['n\r', exitCodes.aborted, ['one']],
  ])('asks a person, who presses %j', async (answer, code, left) => {
    await inStore((log) => finishedSession(log, 'one', 'First', { cwd }));
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const clock = new VirtualClock();
    let isOver = false;
    const running = run({ action: 'delete', operands: ['one'] }, stdin, store, clock).finally(
      () => {
        isOver = true;
      },
    );
    await expect.poll(() => clock.pending).toBeGreaterThan(0);
    clock.advance(quietMs);
    stdin.write(answer);
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(settleMs);
    }
    const ran = await running;
    expect([ran.code, ran.stdout, await idsIn()]).toEqual([code, '', left]);
    expect(ran.stderr).toContain('Delete session one (First)? It cannot be undone. [y/N]');
  });

  test('does nothing where nobody can be asked, and nothing at all where one id is wrong', async () => {
    await inStore((log) => finishedSession(log, 'one', 'First', { cwd }));
    const unasked = run({ action: 'delete', operands: ['one'] });
    await expect(unasked).rejects.toThrow(UsageError);
    const wrong = run({ action: 'delete', operands: ['one', 'nope'], yes: true });
    await expect(wrong).rejects.toMatchObject({ code: 'no_such_session' });
    expect(await idsIn()).toEqual(['one']);
  });

  test('refuses one that somebody drives, and names them', async () => {
    const other = await openStore({ config: { store }, env: {} });
    await finishedSession(other.log, 'one', 'First', { cwd });
    const driver = await other.log.open(sessionId('one'), { holder: 'Ada' });
    const refused = run({ action: 'delete', operands: ['one'], yes: true });
    await expect(refused).rejects.toThrow(/one: Ada runs it\. Stop it there/);
    await driver.release();
    await other.close();
    expect(await idsIn()).toEqual(['one']);
  });
});

describe('export and import', () => {
  /** Creates a session with a result that is so long that it is stored as a blob. */
  const withBlob = (log: Log, name: string) => {
    const long = defineTool({
      ...{ name: 'long', description: 'Says much', input: z.object({}), maxOutputLength: 100 },
      execute: async () => 'much '.repeat(500),
    });
    const parts = [toolCall('c1', 'long', {})];
    const provider = scriptedProvider([{ content: { parts } }, 'Done.']);
    const agent = createAgent({ provider, log, tools: [long] });
    return agent.run('Go', { session: sessionId(name) }).result;
  };
  const target = () => join(folder(), `${count}-copy.db`);

  test('through a pipe give the same records and blobs in another store', async () => {
    await inStore((log) => withBlob(log, 'one'));
    const { stdout } = await run({ action: 'export', operands: ['one'] });
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.some((line) => 'hash' in line)).toBe(true);
    const ran = await run({ action: 'import' }, Readable.from([Buffer.from(stdout)]), target());
    expect([ran.code, ran.stdout]).toEqual([0, 'one\n']);
    expect(await recordsIn(sessionId('one'), target())).toEqual(await recordsIn(sessionId('one')));
    const again = await run({ action: 'export', operands: ['one'] }, undefined, target());
    expect(again.stdout).toBe(stdout);
  });

  test('to a file with the ending .md write the transcript for reading', async () => {
    await inStore((log) => finishedSession(log, 'one', 'First \u001b[2J', { cwd }));
    const output = join(folder(), 'talk.md');
    await run({ action: 'export', operands: ['one'], output });
    const text = readFileSync(output, 'utf8');
    expect(text).toMatch(/^# Session one\n\n\/here, .*\n\n## You\n\nFirst/);
    expect(text).not.toContain('\u001b');
  });

  test('by a file that only its owner may read take the sub-agents along', async () => {
    const { session, child } = await inStore((log) => withSubAgent(log, 'one', cwd));
    const output = join(folder(), 'export.jsonl');
    const exported = await run({ action: 'export', operands: [session], output });
    expect([exported.stdout, exported.stderr]).toEqual(['', `Exported session one to ${output}\n`]);
    expect(statSync(output).mode & 0o777).toBe(0o600);
    const ran = await run({ action: 'import', operands: [output] }, undefined, target());
    const [first, imported = ''] = ran.stdout.trim().split('\n');
    expect(first).toBe(session);
    expect(await recordsIn(sessionId(imported), target())).toEqual(await recordsIn(child));
    expect(JSON.stringify(await recordsIn(session, target()))).toContain(`"child":"${imported}"`);
  });

  test('refuse a session that is there, and import a sub-agent’s under another id', async () => {
    const { session, child } = await inStore((log) => withSubAgent(log, 'one', cwd));
    const { stdout } = await run({ action: 'export', operands: [session] });
    const file = join(folder(), 'again.jsonl');
    writeFileSync(file, stdout);
    const there = run({ action: 'import', operands: [file] });
    await expect(there).rejects.toMatchObject({ code: 'session_exists' });
    await expect(there).rejects.toThrow(`millrace sessions delete ${session}, or import the file`);
    await inStore((log) => log.delete(session));
    const ran = await run({ action: 'import', operands: [file] });
    expect(ran.stdout.trim().split('\n')).toEqual([session, expect.not.stringContaining(child)]);
  });

  test('leave a further session of the file that is there', async () => {
    await inStore(async (log) => {
      for (const name of ['one', 'two']) await finishedSession(log, name, 'First', { cwd });
    });
    const { stdout } = await run({ action: 'export', operands: ['one', 'two'] });
    await inStore((log) => log.delete(sessionId('one')));
    const ran = await run({ action: 'import' }, Readable.from([Buffer.from(stdout)]));
    expect(ran.stdout).toBe('one\n');
    expect(ran.stderr).toBe('Session two already exists and is unchanged\n');
  });

  test('tell the line of the file that is wrong, and take nothing of its session', async () => {
    const { session } = await inStore((log) => withSubAgent(log, 'one', cwd));
    const { stdout } = await run({ action: 'export', operands: [session] });
    const lines = stdout.split('\n');
    // The line is in the second session of the file.
    const at = lines.findLastIndex((line) => line.startsWith('{"millrace"')) + 2;
    lines[at] = lines[at]?.replace('"offset":', '"offset":1') ?? '';
    const broken = Readable.from([Buffer.from(lines.join('\n'))]);
    const error = await run({ action: 'import' }, broken, target()).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'bad_records', place: { line: at + 1 } });
    expect(error.message).toContain(`line ${at + 1}:`);
    expect(await idsIn(target())).toEqual(['one']);
  });

  test.each([
    ['what is no export', 'Hello\n'],
    ['bytes that are no text', Uint8Array.of(0x7b, 0xff, 0x0a)],
    ['nothing', ''],
  ])('refuse %s', async (_what, bytes) => {
    const ran = run({ action: 'import' }, Readable.from([Buffer.from(bytes)]));
    await expect(ran).rejects.toMatchObject({ code: 'bad_records' });
  });

  test('say that a file is not there', async () => {
    const ran = run({ action: 'import', operands: ['none.jsonl'] });
    await expect(ran).rejects.toThrow(/none\.jsonl \(ENOENT\)/);
  });

  test('leave no file where the session is not there, and none that is half', async () => {
    const output = join(folder(), 'none.jsonl');
    await inStore(async () => {});
    const ran = run({ action: 'export', operands: ['nope'], output });
    await expect(ran).rejects.toMatchObject({ code: 'no_such_session' });
    expect(existsSync(output)).toBe(false);
    await inStore((log) => finishedSession(log, 'one', 'First', { cwd }));
    const inNoFolder = join(folder(), 'no-folder', 'x.jsonl');
    const failed = run({ action: 'export', operands: ['one'], output: inNoFolder });
    await expect(failed).rejects.toMatchObject({ code: 'cannot_write' });
  });

  test('replace a file that is there only by a whole one', async () => {
    await inStore((log) => finishedSession(log, 'one', 'First', { cwd }));
    const output = join(folder(), 'replaced.jsonl');
    writeFileSync(output, 'before');
    await run({ action: 'export', operands: ['one'], output });
    expect(readFileSync(output, 'utf8')).toMatch(/^\{"millrace":"session"/);
  });

  test('write through a link and into a pipe, and leave both what they are', async () => {
    await inStore((log) => finishedSession(log, 'one', 'First', { cwd }));
    const [link, target] = [join(folder(), 'link.jsonl'), join(folder(), 'target.jsonl')];
    writeFileSync(target, 'before');
    symlinkSync(target, link);
    await run({ action: 'export', operands: ['one'], output: link });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, 'utf8')).toMatch(/^\{"millrace":"session"/);
    const pipe = join(folder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const read = readFile(pipe, 'utf8');
    await run({ action: 'export', operands: ['one'], output: pipe });
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    expect(await read).toBe(readFileSync(target, 'utf8'));
  });

  test('18.496: attack: a link in a project does not replace a file outside of its folder', async () => {
    await inStore((log) => finishedSession(log, 'one', 'First', { cwd }));
    const project = join(folder(), 'cloned');
    const [link, target] = [join(project, 'talk.jsonl'), join(folder(), '.bashrc')];
    mkdirSync(project);
    writeFileSync(target, 'before');
    symlinkSync('../.bashrc', link);
    const exported = run({ action: 'export', operands: ['one'], output: link });
    await expect(exported).rejects.toThrow(/a link out of its folder, to .*\.bashrc/);
    expect(readFileSync(target, 'utf8')).toBe('before');
  });

  test('say that a folder is no file to write', async () => {
    await inStore((log) => finishedSession(log, 'one', 'First', { cwd }));
    const output = join(folder(), 'a-folder');
    mkdirSync(output);
    const ran = run({ action: 'export', operands: ['one'], output });
    await expect(ran).rejects.toMatchObject({
      code: 'cannot_write',
      message: expect.stringMatching(/a-folder: it is a folder.*--output/),
    });
    expect(readdirSync(folder()).filter((name) => name.endsWith('.part'))).toEqual([]);
  });
});

test('an output that cannot be written is an error, and one that nobody reads is not', async () => {
  await inStore((log) => finishedSession(log, 'one', 'First', { cwd }));
  const listTo = (stdout: FailingOutput) =>
    sessionsCommand({
      args: {
        command: 'sessions',
        action: 'list',
        operands: [],
        all: false,
        json: false,
        yes: false,
        color: true,
      },
      config: { store },
      ...{ stdin: Readable.from([]), stdout, stderr: new CapturedOutput(), cwd, env: {} },
      signal: new AbortController().signal,
    });
  await expect(listTo(new FailingOutput('ENOSPC'))).rejects.toMatchObject({ code: 'cannot_write' });
  expect(await listTo(new FailingOutput('EPIPE'))).toBe(exitCodes.done);
});
