import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '@millrace/agent';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import type { Sandbox, SandboxOptions, SandboxRequest } from '../contract/sandbox.ts';
import { runCommand } from '../shell/run-command.ts';
import { startPrepared } from '../shell/start-prepared.ts';
import { everythingIn, writeTree } from '../testing/temporary-folder.ts';
import { findSandbox } from './find-sandbox.ts';

// A command runs, for example in the background. The model starts a second command, which must not change paths that
// the first one may change. The first command replaces the folder of such a path by a link to a folder outside of the
// workspace. The sandbox must neither change that folder itself nor give it to the second command.

interface Places {
  readonly sandbox: Sandbox;
  readonly workspace: string;
  readonly outside: string;
}

async function places(
  context: Pick<TestContext, 'skip'>,
  optionsOf: (folder: string) => SandboxOptions = () => ({}),
): Promise<Places> {
  // The sandbox replaces `/tmp`, so the folder outside would not exist there.
  const base = join(import.meta.dirname, '../../../../node_modules/.cache');
  mkdirSync(base, { recursive: true });
  const folder = realpathSync(mkdtempSync(join(base, 'beside-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [workspace, outside] = [join(folder, 'workspace'), join(folder, 'outside')];
  for (const path of [workspace, outside]) mkdirSync(path);
  const found = await findSandbox(optionsOf(folder));
  if (found.sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(found.reason);
    return context.skip(found.reason);
  }
  const { sandbox } = found;
  onTestFinished(() => sandbox.close());
  return { sandbox, workspace, outside };
}

type Request = Partial<SandboxRequest> & { readonly beforeStart?: () => void };

/** Runs a line in the sandbox. Returns its outcome and the notes of the sandbox. */
async function run({ sandbox, workspace }: Places, line: string, request: Request = {}) {
  const { beforeStart, ...fields } = request;
  const command = ['/bin/bash', '-c', line];
  const env = { PATH: '/usr/bin:/bin' };
  const confined = await sandbox.prepare({ root: workspace, command, env, ...fields });
  beforeStart?.();
  const { signal } = new AbortController();
  const onOutput = () => undefined;
  const options = { shell: '/bin/bash', cwd: workspace, env, clock: systemClock, graceMs: 100 };
  const ran = runCommand(line, { ...options, signal, onOutput, confined });
  const outcome = await ran.catch((error: unknown) => error);
  return { outcome, notes: (await confined.finish()).join('\n') };
}

const waitFor = (name: string) => `while [ ! -e ${name} ]; do sleep 0.01; done`;

/** Starts a command that replaces a folder by a link as soon as the second command runs. */
function replaceLater(at: Places, folder: string) {
  const swap = `mv ${folder} old; ln -s ../outside ${folder}; touch swapped`;
  return run(at, `touch ready; ${waitFor('started')}; ${swap}; ${waitFor('over')}`);
}

async function besideReplacement(at: Places, request: Request): Promise<string> {
  const first = replaceLater(at, 'config');
  while (!existsSync(join(at.workspace, 'ready'))) await setTimeout(5);
  const { notes } = await run(at, `touch started; ${waitFor('swapped')}`, request);
  writeFileSync(join(at.workspace, 'over'), '');
  await first;
  expect(lstatSync(join(at.workspace, 'config')).isSymbolicLink()).toBe(true);
  return notes;
}

test('18.1560: attack: a command replaces the folder of a guarded link by a link to a folder outside', async (context) => {
  const at = await places(context);
  mkdirSync(join(at.workspace, 'config'));
  symlinkSync('../evil', join(at.workspace, 'config/git'));
  const links = [join(at.workspace, 'config/git')];
  expect(await besideReplacement(at, { links })).toContain('config/git');
  expect(readdirSync(at.outside)).toEqual([]);
});

test('18.1561: attack: a command lets the sandbox rename a file outside', async (context) => {
  const at = await places(context);
  mkdirSync(join(at.workspace, 'config'));
  writeTree(at.outside, { 'settings/x': 'Mine' });
  const protect = [join(at.workspace, 'config/settings')];
  expect(await besideReplacement(at, { protect })).toContain('config/settings');
  expect(readdirSync(at.outside)).toEqual(['settings']);
});

test('18.1562: attack: a command lets the sandbox replace the content of a file outside', async (context) => {
  const at = await places(context);
  writeTree(at.workspace, { 'config/settings': 'Old' });
  writeTree(at.outside, { settings: 'Mine' });
  const protect = [join(at.workspace, 'config/settings')];
  expect(await besideReplacement(at, { protect })).toContain('stopped');
  expect(readdirSync(at.outside)).toEqual(['settings']);
  expect(readFileSync(join(at.outside, 'settings'), 'utf8')).toBe('Mine');
});

test('18.1563: attack: a command lets the sandbox change the permissions of a folder outside', async (context) => {
  const at = await places(context);
  mkdirSync(join(at.workspace, 'config/inner'), { recursive: true });
  mkdirSync(join(at.outside, 'inner'), { mode: 0o500 });
  const protect = [join(at.workspace, 'config/inner/settings')];
  await besideReplacement(at, { protect });
  expect(statSync(join(at.outside, 'inner')).mode & 0o777).toBe(0o500);
});

test.for([
  ['a folder above a guarded path', 'config/inner/settings', 'config'],
  ['a guarded folder', 'config', 'config'],
  ['the folder of a hidden path', 'config/inner/settings', 'config/inner'],
] as const)(
  '18.1564: attack: a command replaces %s before the second command starts',
  async ([, path, replaced], context) => {
    const at = await places(context);
    const { workspace, outside } = at;
    writeTree(workspace, { 'config/inner/settings': 'Old', 'other/x': '' });
    writeTree(outside, { 'inner/settings': 'Mine', settings: 'Mine' });
    const first = run(at, `touch ready; ${waitFor('over')}`);
    while (!existsSync(join(workspace, 'ready'))) await setTimeout(5);
    const target = replaced.includes('/') ? '../../outside' : '../outside';
    const second = await run(at, `touch ran ../outside/new; rm -f ../outside/settings`, {
      protect: [join(workspace, path)],
      beforeStart: () => {
        renameSync(join(workspace, replaced), join(workspace, 'old'));
        symlinkSync(target, join(workspace, replaced));
      },
    });
    writeFileSync(join(workspace, 'over'), '');
    await first;
    expect(existsSync(join(workspace, 'ran'))).toBe(false);
    expect(readdirSync(outside).toSorted()).toEqual(['inner', 'settings']);
    // The watch of the protected path may notice the replacement first.
    const { message = '', reason = '' } = second.outcome as { message?: string; reason?: string };
    expect(message + reason).toMatch(/Cannot run the command in the sandbox|blocked/);
  },
);

test('18.1573: attack: a command replaces the workspace of another session by a link', async (context) => {
  const at = await places(context);
  const inner = { ...(await places(context)), workspace: join(at.workspace, 'packages/app') };
  writeTree(at.workspace, { 'packages/app/x': '' });
  writeTree(at.outside, { 'app/x': 'Mine' });
  await run(inner, 'true');
  await run(at, 'mv packages old; ln -s ../outside packages');
  await expect(run(inner, 'echo evil > x; touch new')).rejects.toThrow('Cannot run commands in');
  expect(everythingIn(at.outside)).toEqual({ 'app/': '', 'app/x': 'Mine' });
});

test.for([
  ['is a folder of the workspace', 'mv x old && ln -s ../outside x'],
  ['does not exist', 'mkdir y && ln -s ../../outside/cache y/cache'],
] as const)(
  '18.1574: attack: a command replaces a further folder that %s by a link',
  async ([, replace], context) => {
    const at = await places(context, (folder) => ({
      writable: ['x', 'y'].map((name) => join(folder, 'workspace', name, 'cache')),
    }));
    writeTree(at.outside, { 'cache/x': 'Mine' });
    writeTree(at.workspace, { 'x/cache/a': '' });
    await run(at, replace);
    await run(
      at,
      'for at in x y; do echo evil > $at/cache/x; echo evil > ../outside/cache/x; done',
    );
    expect(readFileSync(join(at.outside, 'cache/x'), 'utf8')).toBe('Mine');
  },
);

test('18.1575: attack: a command creates a protected name immediately before the second command starts', async (context) => {
  const at = await places(context);
  const file = join(at.workspace, '.bazelrc');
  const first = run(at, `touch ready; ${waitFor('over')}`);
  while (!existsSync(join(at.workspace, 'ready'))) await setTimeout(5);
  writeFileSync(file, 'evil');
  const second = await run(at, `touch .bazelrc; ${waitFor('never')}`, {
    protectNew: (name) => name === '.bazelrc',
  });
  writeFileSync(join(at.workspace, 'over'), '');
  await first;
  expect(second.notes).toContain('The sandbox renamed');
  expect(existsSync(file)).toBe(false);
});

test('18.1576: attack: the second command restores a protected file of the first', async (context) => {
  const at = await places(context);
  const file = join(at.workspace, '.mcp.json');
  const swap = `${waitFor('started')}; mv .mcp.json evil; touch swapped; ${waitFor('over')}`;
  const first = run(at, `touch ready; ${waitFor('created')}; ${swap}`);
  while (!existsSync(join(at.workspace, 'ready'))) await setTimeout(5);
  writeFileSync(file, 'evil');
  writeFileSync(join(at.workspace, 'created'), '');
  const second = await run(
    at,
    `touch started; ${waitFor('swapped')}; cp evil .mcp.json; ${waitFor('never')}`,
    { protect: ['.mcp.json'] },
  );
  writeFileSync(join(at.workspace, 'over'), '');
  await first;
  expect(second.notes).toContain('.mcp.json');
  expect(existsSync(file)).toBe(false);
});

test('18.1577: attack: this process ends before it has checked a command', async (context) => {
  const { sandbox, workspace } = await places(context);
  const command = ['/bin/bash', '-c', 'touch ran'];
  const prepared = await sandbox.prepare({ root: workspace, command, env: {} });
  // The end of a process closes its descriptors.
  const { child, admitted } = startPrepared(
    { ...prepared, check: async () => false },
    { stdio: ['ignore', 'ignore', 'ignore'] },
  );
  const [[code]] = await Promise.all([once(child, 'exit'), expect(admitted).rejects.toThrow()]);
  await prepared.finish();
  expect(code).toBe(126);
  expect(existsSync(join(workspace, 'ran'))).toBe(false);
});

test('a file outside of the workspace can be writable', async (context) => {
  const at = await places(context, (folder) => ({ writable: [join(folder, 'state.json')] }));
  const file = join(at.workspace, '../state.json');
  await run(at, `echo 1 > ${file} || true`);
  writeFileSync(file, '');
  await run(at, `echo changed > ${file}`);
  expect(readFileSync(file, 'utf8')).toBe('changed\n');
});
