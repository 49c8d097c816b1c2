import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, type TestContext, test, vi } from 'vitest';
import { bundledProgram } from '../../../../../scripts/bundled-program.ts';
import { fewOf } from '../../../../core/src/testing/runs.ts';
import type { Sandbox } from '../../contract/sandbox.ts';
import { isProtectedName } from '../../permissions/protected-paths.ts';
import { bashTool } from '../../shell/bash-tool.ts';
import { startPrepared } from '../../shell/start-prepared.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { runTool } from '../../testing/tool-context.ts';
import { findSandbox } from '../find-sandbox.ts';

// A process ends without a complete check of what its command created. The next process must check it.

const program = bundledProgram(
  new URL('../../testing/sandbox/sandboxed-agent.ts', import.meta.url),
);

interface Place {
  readonly root: string;
  /** Runs a command in a sandbox of this process. */
  run(command: string, sandbox?: Sandbox): Promise<string>;
  /** Opens another sandbox of this process. */
  open(): Promise<Sandbox>;
  /** Runs a command in a process of its own. The process ends after the command. */
  runElsewhere(command: string): Promise<string>;
  /**
   * Runs a command in a process of its own, and kills the process before it can check what the command created. See
   * `SandboxedRequest.guarded`.
   */
  runAndKill(command: string, guarded?: readonly string[]): Promise<void>;
  /** Removes all temporary files, like a program that cleans up. */
  removeFiles(): void;
  /** The names of the notes that are left. */
  notes(): readonly string[];
}

/** Returns a workspace, and an empty folder for temporary files. */
async function placeFor(context: TestContext): Promise<Place> {
  onTestFinished(() => void vi.unstubAllEnvs());
  const place = temporaryFolder();
  vi.stubEnv('TMPDIR', place);
  const open = async () => {
    const { sandbox, ...missing } = await findSandbox();
    if (sandbox === undefined) {
      if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(JSON.stringify(missing));
      return context.skip(JSON.stringify(missing));
    }
    onTestFinished(() => sandbox.close());
    return sandbox;
  };
  const sandbox = await open();
  const root = temporaryFolder();
  const exists = (name: string) =>
    expect.poll(() => existsSync(join(root, name)), { timeout: 60_000 });
  const start = (command: string, guarded?: readonly string[]) => {
    const env = { ...process.env, NODE_OPTIONS: '' };
    const agent = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'], env });
    onTestFinished(() => void agent.kill('SIGKILL'));
    const input = { command, change_git: true };
    agent.stdin.end(`${JSON.stringify({ root, input, guarded })}\n`);
    return agent;
  };
  return {
    root,
    open,
    async run(command, given = sandbox) {
      const { text } = await runTool(bashTool({ workspace: { root }, sandbox: given }), {
        command,
        change_git: true,
      });
      await given.settled();
      return text;
    },
    async runElsewhere(command) {
      const agent = start(command);
      let text = '';
      for await (const line of createInterface({ input: agent.stdout })) text += line;
      return text;
    },
    async runAndKill(command, guarded) {
      const agent = start(
        `touch started; until [ -e go ]; do sleep 0.02; done; ${command}; touch made; sleep 1000`,
        guarded,
      );
      await exists('started').toBe(true);
      // The process cannot check anything from now on.
      agent.kill('SIGSTOP');
      writeFileSync(join(root, 'go'), '');
      await exists('made').toBe(true);
      agent.kill('SIGKILL');
      await once(agent, 'exit');
    },
    removeFiles() {
      for (const name of readdirSync(place)) rmSync(join(place, name), { recursive: true });
    },
    notes: () =>
      readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((path) =>
        path.includes('/running/'),
      ),
  };
}

const evil = (at: string) => `git init -q ${at}; git -C ${at} config core.fsmonitor evil`;

test('18.940: attack: a process is killed before it checks what its command created', async (context) => {
  const { root, run, runAndKill, notes } = await placeFor(context);
  await runAndKill(`${evil('v')}; git init -q harmless`);
  expect(await run('true')).toMatch(/The sandbox renamed .*\.git to/);
  expect(existsSync(join(root, 'v/.git'))).toBe(false);
  expect(existsSync(join(root, 'harmless/.git'))).toBe(false);
  expect(await run('echo again')).toBe('again');
  expect(notes()).toEqual([]);
});

test('18.1700: attack: a command creates protected names after its process was stopped and killed', async (context) => {
  const { root, run, runAndKill, notes } = await placeFor(context);
  const ofUser = ['x.code-workspace', 'link', '.envrc'];
  writeFileSync(join(root, 'x.code-workspace'), '{}');
  writeFileSync(join(root, 'target'), '');
  symlinkSync('target', join(root, 'link'));
  writeFileSync(join(root, '.envrc'), 'export A=1\n');
  const create = 'mkdir .vscode; echo {} > .vscode/tasks.json; echo {} > a.code-workspace';
  await runAndKill(`${create}; echo x > .npmrc; echo x > plain; rm link; ln -s evil link`, [
    ...['.npmrc', 'link', '.envrc'],
  ]);
  const text = await run('ls');
  expect(text).toContain('An earlier command in this folder was not checked completely');
  for (const name of ['.vscode', 'a.code-workspace', '.npmrc']) {
    expect(text).toContain(`The sandbox renamed ${join(root, name)}`);
    expect(existsSync(join(root, name))).toBe(false);
  }
  expect(readlinkSync(join(root, 'link'))).toBe('target');
  expect(readdirSync(root)).toEqual(expect.arrayContaining([...ofUser, 'plain']));
  expect(notes()).toEqual([]);
  // The user may create such names afterwards.
  writeFileSync(join(root, '.npmrc'), 'x');
  expect(await run('echo again')).toBe('again');
  expect(existsSync(join(root, '.npmrc'))).toBe(true);
});

test('18.1700: attack: a command that its process ended leaves no note', async (context) => {
  const { root, run, runElsewhere, notes } = await placeFor(context);
  await runElsewhere('true');
  expect(await run('true')).not.toContain('renamed');
  expect([notes(), readdirSync(root)]).toEqual([[], []]);
});

/** Creates many folders, so that the search does not find `many/v`. */
const hidden = `mkdir many; (cd many; seq 50001 | xargs mkdir); ${evil('many/v')}`;

test.for(fewOf(['another process', 'another sandbox', 'the same sandbox'] as const, 1))(
  '18.1180: attack: a command hides a repository from the check, and %s runs the next command',
  async (next, context) => {
    const { root, run, runElsewhere, open, notes } = await placeFor(context);
    const first = next === 'the same sandbox' ? undefined : await open();
    const text = next === 'another process' ? await runElsewhere(hidden) : await run(hidden, first);
    expect(text).toContain('cannot check which repositories');
    first?.close();
    execFileSync('find', ['many', '-name', '[0-9]*', '-delete'], { cwd: root });
    expect(notes().length).toBe(1);
    expect(await run('true')).toMatch(/The sandbox renamed .*\.git to/);
    expect(existsSync(join(root, 'many/v/.git'))).toBe(false);
    expect(await run('echo again')).toBe('again');
    expect(notes()).toEqual([]);
  },
);

const who = '-c user.name=a -c user.email=a@b';
const commit = `git ${who} commit -q --allow-empty`;
/** Writes a rebase that runs a program when the user continues it. */
const rebase = (git: string) =>
  `mkdir ${git}/rebase-merge; echo 'exec touch ran' > ${git}/rebase-merge/git-rebase-todo`;

/** What the user has before the command. The paths and their content must stay. */
const ofUser = [
  `git init -q .; ${commit} -m one; git init -q third; git init -q sub; git -C sub ${who} commit -q --allow-empty -m one`,
  `${rebase('.git')}; git init -q .git/mine; ln -s ../a .git/link; mkdir sub/.git/refs/x; git init -q sub/.git/refs/x`,
  `git read-tree --empty`,
].join('; ');

/** What a command creates, and the path that must not stay. */
const created: readonly (readonly [what: string, script: string, path: string])[] = [
  ['an unfinished rebase', rebase('sub/.git'), 'sub/.git/rebase-merge'],
  [
    'an unfinished cherry-pick',
    `mkdir .git/sequencer; printf '[options]\\nstrategy = x/y\\n' > .git/sequencer/opts`,
    '.git/sequencer',
  ],
  ['an index', 'echo damaged > sub/.git/index', 'sub/.git/index'],
  ['a repository in a git folder', evil('.git/refs/v'), '.git/refs/v/.git'],
  [
    'a repository in an unfinished rebase',
    `mkdir third/.git/rebase-merge; ${evil('third/.git/rebase-merge/v')}`,
    'third/.git/rebase-merge/v/.git',
  ],
  ['a link in a git folder', 'ln -s ../a .git/logs/x', '.git/logs/x'],
  ['the path of other settings', 'mkdir b; echo ../b > .git/commondir', '.git/commondir'],
  [
    'settings of a worktree',
    'git config -f .git/config.worktree core.fsmonitor evil',
    '.git/config.worktree',
  ],
];

test('18.1181: attack: a killed process leaves operations, indexes and links of its command', async (context) => {
  const { root, run, runAndKill, notes } = await placeFor(context);
  const at = (path: string) => join(root, path);
  execFileSync('sh', ['-c', ofUser], { cwd: root });
  const index = readFileSync(at('.git/index'));
  await runAndKill(created.map(([, script]) => `(${script})`).join('; '));
  expect(created.filter(([, , path]) => !existsSync(at(path)) && !path.endsWith('x'))).toEqual([]);
  const text = await run('true');
  const left = created.filter(([, , path]) =>
    readdirSync(at(join(path, '..'))).includes(path.split('/').at(-1) ?? ''),
  );
  expect(left, text).toEqual([]);
  expect(readFileSync(at('.git/rebase-merge/git-rebase-todo'), 'utf8')).toContain('exec');
  expect(readFileSync(at('.git/index')).equals(index)).toBe(true);
  expect(readdirSync(at('.git'))).toEqual(expect.arrayContaining(['link', 'mine', 'config']));
  expect(existsSync(at('sub/.git/refs/x/.git'))).toBe(true);
  expect(await run('echo again')).toBe('again');
  expect(notes()).toEqual([]);
});

test('18.1182: attack: a killed process leaves a repository in the root of the workspace', async (context) => {
  const { root, run, runAndKill } = await placeFor(context);
  await runAndKill(evil('.'));
  expect(await run('true')).toContain(`The sandbox renamed ${join(root, '.git')}`);
  expect(existsSync(join(root, '.git'))).toBe(false);
});

test('18.1183: attack: commands that cannot start keep their descriptors', async (context) => {
  const { root, run, open, removeFiles } = await placeFor(context);
  const sandbox = await open();
  expect(await run('echo before', sandbox)).toBe('before');
  removeFiles();
  const request = { root, command: ['true'], env: {} };
  const opened = () => readdirSync('/proc/self/fd').length;
  const before = opened();
  for (let n = 0; n < 5; n++) await expect(sandbox.prepare(request)).rejects.toThrow('ENOENT');
  expect(opened()).toBe(before);
});

test('18.1810: attack: a process that cannot be killed creates a protected name after the end of its command', async (context) => {
  const { root, run, runElsewhere, open, notes } = await placeFor(context);
  const env = { PATH: '/usr/bin:/bin' };
  const wait = 'until [ -e go ]; do sleep 0.02; done; mkdir .vscode; touch made; sleep 1000';
  const request = { root, env, command: ['sh', '-c', wait], protectNew: isProtectedName };
  const sandbox = await open();
  const prepared = await sandbox.prepare(request);
  const { child, admitted } = startPrepared(prepared, {
    env,
    cwd: '/',
    stdio: ['ignore', 'ignore', 2],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await admitted;
  // Another command uses the same plan.
  const beside = await sandbox.prepare(request);
  // Nobody can kill the process, so it still runs when the sandbox stops watching.
  expect((await prepared.finish()).join()).toContain('cannot be stopped');
  await expect(sandbox.prepare(request)).rejects.toThrow('they still run. Nothing was run');
  await beside.finish();
  await sandbox.settled();
  writeFileSync(join(root, 'go'), '');
  await expect.poll(() => existsSync(join(root, 'made')), { timeout: 60_000 }).toBe(true);
  await expect(sandbox.prepare(request)).rejects.toThrow('they still run. Nothing was run');
  expect(await runElsewhere('true')).toContain('they still run. Nothing was run');
  child.kill('SIGKILL');
  await once(child, 'exit');
  await expect.poll(() => run('true'), { timeout: 60_000 }).toContain('The sandbox renamed');
  expect(existsSync(join(root, '.vscode'))).toBe(false);
  expect(await run('echo again')).toBe('again');
  expect(notes()).toEqual([]);
});
