import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type JsonObject, sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import type { PermissionRule } from '@millrace/tools';
import { expect, test } from 'vitest';
import { mergeSandbox } from '../config/command-settings.ts';
import { folderWith, type TestAgent, testAgent } from '../testing/test-agent.ts';

// The user opens a hostile repository, and the model starts a sub-agent in a git worktree of it.

let made = 0;
const call = (name: string, input: JsonObject): ScriptEntry => ({
  content: { parts: [toolCallPart(toolCallId(`c${++made}`), name, input)] },
});
const isolatedTask = call('task', { agent: 'worker', task: 'Work', isolation: 'worktree' });

/** Creates a user with a repository in the folder `project`. */
function userWith(files: Readonly<Record<string, string>>) {
  const home = folderWith(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`project/${path}`, text])),
  );
  const cwd = join(home, 'project');
  mkdirSync(cwd, { recursive: true });
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], { cwd });
  git('init', '-q');
  const link = (target: string, path: string) => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    symlinkSync(target, join(cwd, path));
  };
  const commit = () => {
    git('add', '-A');
    git('commit', '-q', '-m', 'first');
  };
  const read = (path: string) => readFileSync(join(home, path), 'utf8');
  return { home, cwd, git, link, commit, read };
}

/** Runs a sub-agent with these calls. Returns the texts of all requests and the names of the questions. */
async function runIsolated(
  { home, cwd }: { readonly home: string; readonly cwd: string },
  calls: readonly ScriptEntry[],
  permissions: { readonly mode: 'ask' | 'accept-edits'; readonly rules: readonly PermissionRule[] },
  onBuilt: (agent: TestAgent) => void = () => {},
) {
  const provider = scriptedProvider([isolatedTask, ...calls, 'Done.', 'Done.', 'Done.']);
  const env = { HOME: home, PATH: process.env['PATH'] };
  const built = await testAgent({ provider, cwd, env, config: { permissions } });
  onBuilt(built);
  const { agent } = built;
  const run = agent.run('Go', { session: sessionId('s') });
  const asked: string[] = [];
  for await (const event of run.events) {
    if (event.type !== 'approval_asked') continue;
    asked.push(event.name);
    await run.deny(event.toolCallId);
  }
  const { items } = await run.result;
  const requests = provider.requests.map(({ request }) => JSON.stringify(request)).join('\n');
  return { asked, requests, items: JSON.stringify(items) };
}

const ask = { mode: 'ask', rules: [] } as const;
const acceptEdits = { mode: 'accept-edits', rules: [] } as const;

test.each(['../../../..', 'absolute'])(
  '18.311: attack: the last commit has the opened folder as a link to %s',
  async (target) => {
    const user = userWith({ 'a.txt': 'a\n' });
    user.link(target === 'absolute' ? user.home : target, 'app');
    user.commit();
    rmSync(join(user.cwd, 'app'));
    mkdirSync(join(user.cwd, 'app'));
    execFileSync('sh', ['-c', 'echo PWNED > app/.bashrc; echo new > app/new.txt'], {
      cwd: user.cwd,
    });
    const { items } = await runIsolated({ ...user, cwd: join(user.cwd, 'app') }, [], ask);
    expect(items).toContain('Cannot create a git worktree');
    expect(existsSync(join(user.home, '.bashrc'))).toBe(false);
    expect(existsSync(join(user.home, 'new.txt'))).toBe(false);
    const names = readdirSync(join(user.home, '.cache/millrace/worktrees'));
    expect(names.filter((name) => !name.endsWith('.lock'))).toEqual([]);
  },
);

test('18.312: attack: the index names files behind a link as deleted', async () => {
  const user = userWith({ 'd/victim.txt': 'x\n' });
  user.git('add', '-A');
  const outside = folderWith({ 'victim.txt': 'keep\n' });
  rmSync(join(user.cwd, 'd'), { recursive: true });
  user.link(outside, 'd');
  user.commit();
  // The index of the attacker still has the file of the folder.
  const blob = user.git('hash-object', '-w', '--stdin').toString().trim();
  rmSync(join(user.cwd, 'd'));
  user.git('rm', '-q', '--cached', 'd');
  user.git('update-index', '--add', '--cacheinfo', `100644,${blob},d/victim.txt`);
  const { requests } = await runIsolated(user, [call('ls', { path: '.' })], ask);
  expect(requests).toContain('worktrees');
  expect(readFileSync(join(outside, 'victim.txt'), 'utf8')).toBe('keep\n');
});

test.each(['private/notes.txt', 'private', 'private/**', '**/notes.txt', '*/notes.txt'])(
  '18.313: attack: a worktree shows what an absolute rule denies: %s',
  async (path) => {
    const user = userWith({ 'private/notes.txt': 'TOPSECRET\n', 'open.txt': 'OPEN\n' });
    user.commit();
    const rules = [{ path: join(user.cwd, path), decision: 'deny' }] as const;
    const calls = [
      call('read', { path: 'private/notes.txt' }),
      call('bash', { command: 'cat private/notes.txt' }),
      call('grep', { pattern: 'SECRET', path: '.' }),
      call('read', { path: 'open.txt' }),
    ];
    const { requests } = await runIsolated(user, calls, { mode: 'ask', rules });
    expect(requests).toContain('OPEN');
    expect(requests).not.toContain('TOPSECRET');
  },
);

test('18.314: attack: a worktree changes the target of a protected link that is not committed', async () => {
  const user = userWith({ 'conf/tasks.json': '{}\n', '.gitignore': '.vscode\n' });
  user.commit();
  user.link('conf', '.vscode');
  const calls = [
    call('write', { path: 'conf/tasks.json', content: 'EVIL' }),
    call('write', { path: 'other.txt', content: 'fine' }),
  ];
  const { items } = await runIsolated(user, calls, acceptEdits);
  expect(user.read('project/conf/tasks.json')).toBe('{}\n');
  expect(user.read('project/other.txt')).toBe('fine');
  expect(items).toContain('conf/tasks.json: changes of it need an approval here');
});

test('18.315: attack: a worktree changes hooks of a repository that is ignored', async () => {
  const user = userWith({ '.gitignore': 'mirror\n' });
  user.commit();
  user.git('init', '-q', '--bare', 'mirror');
  const calls = [
    call('write', { path: '.gitignore', content: '\n' }),
    call('write', { path: 'mirror/hooks/post-update', content: '#!/bin/sh\necho EVIL\n' }),
  ];
  const { items } = await runIsolated(user, calls, acceptEdits);
  expect(existsSync(join(user.cwd, 'mirror/hooks/post-update'))).toBe(false);
  expect(items).toContain('mirror/hooks/post-update: changes of it need an approval here');
});

test('18.316: attack: a worktree has a copy of a denied file, and the sandbox of the folder shows it', async () => {
  const user = userWith({ 'a.txt': 'a\n' });
  user.commit();
  writeFileSync(join(user.cwd, '.env'), 'KEY=DENIED\n');
  const folder = join(user.home, '.cache/millrace/worktrees');
  const inside = () => {
    const [worktree = ''] = readdirSync(folder).filter((name) => /^millrace-\w+$/.test(name));
    expect(readdirSync(join(folder, worktree)).toSorted()).toEqual(['.git', 'a.txt']);
    return 'I looked.';
  };
  const rules = [{ path: '.env', decision: 'deny' }] as const;
  const { requests } = await runIsolated(user, [inside], { mode: 'ask', rules });
  expect(requests).toContain('I looked.');
  const { hide } = mergeSandbox({
    layers: [],
    args: {},
    env: { HOME: user.home },
    store: undefined,
  });
  expect(hide).toContain(folder);
});

test('18.343: attack: the user changes to the mode plan, and the changes of a worktree are merged', async () => {
  const user = userWith({ 'a.txt': 'a\n' });
  user.commit();
  let setMode: TestAgent['setMode'] = () => {};
  const plan = () => {
    setMode('plan');
    return 'I wrote it.';
  };
  const calls = [call('write', { path: 'new.txt', content: 'new' }), plan];
  const { items } = await runIsolated(user, calls, acceptEdits, (agent) => {
    setMode = agent.setMode;
  });
  expect(existsSync(join(user.cwd, 'new.txt'))).toBe(false);
  expect(items).toContain('new.txt: the session is in the mode plan');
  const folder = join(user.home, '.cache/millrace/worktrees');
  const [kept = ''] = readdirSync(folder).filter((name) => /^millrace-\w+$/.test(name));
  expect(readFileSync(join(folder, kept, 'new.txt'), 'utf8')).toBe('new');
});

test.each([
  ['asks about files with secrets', []],
  ['denies the files', [{ path: '{.env,private/**}', decision: 'deny' }]],
] as const)(
  '18.351: attack: a link that git does not track is copied as a file, and the policy %s',
  async (_, rules) => {
    const user = userWith({ 'a.txt': 'a\n', 'dir/plan.txt': 'committed\n' });
    user.commit();
    writeFileSync(join(user.cwd, '.env'), 'KEY=SECRET-1\n');
    mkdirSync(join(user.cwd, 'private'));
    writeFileSync(join(user.cwd, 'private/plan.txt'), 'SECRET-2\n');
    writeFileSync(join(user.cwd, 'new.txt'), 'NEW\n');
    user.link('.env', 'notes.txt');
    // Git lists the file as deleted, and its parent is a link now.
    rmSync(join(user.cwd, 'dir'), { recursive: true });
    user.link('private', 'dir');
    const paths = ['notes.txt', 'dir/plan.txt', 'new.txt'];
    const calls = paths.map((path) => call('read', { path }));
    const { asked, requests } = await runIsolated(user, calls, { mode: 'ask', rules });
    expect(requests).toContain('NEW');
    expect(requests).not.toContain('SECRET-');
    expect(asked).toEqual([]);
  },
);

test('18.352: attack: a sub-agent makes a file protected in its worktree after it has changed the file', async () => {
  const user = userWith({ 'conf/tasks.json': '{}\n', '.gitignore': '.vscode\n' });
  user.commit();
  user.link('conf', '.vscode');
  const folder = join(user.home, '.cache/millrace/worktrees');
  // A program of the sub-agent creates a repository whose hooks are in the folder of the file.
  const hooksInConf = () => {
    const [worktree = ''] = readdirSync(folder).filter((name) => /^millrace-\w+$/.test(name));
    const root = join(folder, worktree);
    for (const name of ['objects', 'refs'])
      mkdirSync(join(root, 'm/.git', name), { recursive: true });
    writeFileSync(join(root, 'm/.git/HEAD'), 'ref: refs/heads/x\n');
    writeFileSync(join(root, 'm/.git/config'), `[core]\n\thooksPath = ${root}/conf\n`);
    return 'I wrote it.';
  };
  const write = call('write', { path: 'conf/tasks.json', content: 'EVIL' });
  const { asked, items } = await runIsolated(user, [write, hooksInConf], acceptEdits);
  expect(asked).toEqual([]);
  expect(user.read('project/conf/tasks.json')).toBe('{}\n');
  expect(items).toContain('conf/tasks.json: changes of it need an approval here');
});

test.each([true, false])(
  '18.352: a protected file is merged if a person approved its change: %s',
  async (approves) => {
    const user = userWith({ '.vscode/tasks.json': '{}\n' });
    user.commit();
    const provider = scriptedProvider([
      ...[isolatedTask, call('write', { path: '.vscode/tasks.json', content: 'new' })],
      ...['Done.', 'Done.'],
    ]);
    const env = { HOME: user.home, PATH: process.env['PATH'] };
    const config = { permissions: acceptEdits };
    const { agent } = await testAgent({ provider, cwd: user.cwd, env, config });
    const run = agent.run('Go', { session: sessionId('s') });
    for await (const event of run.events)
      if (event.type === 'approval_asked')
        await (approves ? run.approve(event.toolCallId) : run.deny(event.toolCallId));
    await run.result;
    expect(user.read('project/.vscode/tasks.json')).toBe(approves ? 'new' : '{}\n');
  },
);

test('18.519: attack: a worktree shows a folder that the user hides by a path with a link', async () => {
  const user = userWith({ 'private/notes.txt': 'TOPSECRET\n', 'open.txt': 'OPEN\n' });
  user.commit();
  const link = join(folderWith(), 'link');
  symlinkSync(user.home, link);
  const env = { HOME: user.home, PATH: process.env['PATH'] };
  const given = mergeSandbox({ layers: [], args: {}, env, store: undefined });
  const sandbox = { ...given, hide: [...given.hide, join(link, 'project/private')] };
  const calls = [call('bash', { command: 'cat pri*/* open.txt' })];
  const provider = scriptedProvider([isolatedTask, ...calls, 'Done.', 'Done.']);
  const config = { permissions: { mode: 'auto', rules: [] }, sandbox } as const;
  const { agent } = await testAgent({ provider, cwd: user.cwd, env, config });
  await agent.run('Go', { session: sessionId('s') }).result;
  const requests = JSON.stringify(provider.requests.map(({ request }) => request));
  expect(requests).toContain('OPEN');
  expect(requests).not.toContain('TOPSECRET');
});

test.each(['secrets/**', './secrets', 'k.pem', '*.pem', '**/k.pem', '{secrets,other}/**'])(
  '18.965: attack: without a sandbox, a command in a worktree reads what %s denies in the folder',
  async (path) => {
    const user = userWith({ 'secrets/k.pem': 'TOPSECRET\n', 'open.txt': 'OPEN\n' });
    user.commit();
    const file = join(user.cwd, 'secrets/k.pem');
    const rules = [
      { tool: 'bash', decision: 'allow' },
      { path, decision: 'deny' },
    ] as const;
    const lines = [
      `cat ${file}`,
      `head -1 ${user.cwd}/secrets/../secrets/k.pem`,
      `cd ${user.cwd} && cat secrets/k.pem`,
      `grep -r SECRET ${user.cwd}`,
      `git -C ${user.cwd} show HEAD:secrets/k.pem`,
      'git show HEAD:secrets/k.pem',
      'cat secrets/k.pem',
    ];
    const calls = [
      ...lines.map((command) => call('bash', { command })),
      call('read', { path: file }),
      call('grep', { pattern: 'SECRET', path: user.cwd }),
      call('bash', { command: 'cat open.txt' }),
    ];
    const { asked, requests } = await runIsolated(user, calls, { mode: 'ask', rules });
    expect(requests).not.toContain('TOPSECRET');
    expect(requests).toContain('OPEN');
    expect(asked.filter((name) => name === 'bash')).toHaveLength(lines.length);
  },
);
