import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { toolCallId } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { bashTool } from '../../shell/bash-tool.ts';
import { temporaryFolder, writeTree } from '../../testing/temporary-folder.ts';
import { createWorkspace } from '../../workspace/workspace.ts';
import { approveByPolicy } from '../approve-by-policy.ts';
import { permissionPolicy } from '../permission-policy.ts';
import type { PermissionRule } from '../permission-rule.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a', '.env': 'hush' });
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function ruling(command: string, rules: readonly PermissionRule[] = []) {
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root: workspace.root, rules, freeReading: true });
  const tool = bashTool({ workspace });
  const call = { kind: 'tool_call', toolCallId: toolCallId('c'), name: 'bash' } as const;
  const input = { command };
  const pending = {
    name: call.name,
    call: { ...call, arguments: '' },
    tool,
    input,
    summary: command,
  };
  const decided = await approveByPolicy(policy, workspace)(pending);
  return typeof decided === 'string' ? decided : decided.decision;
}

describe('a link', () => {
  test('that stays inside is treated like its target', async () => {
    symlinkSync('a.txt', join(root, 'link'));
    expect(await ruling('cat link')).toBe('allow');
  });

  test('that leads outside is asked for', async () => {
    symlinkSync('/etc', join(root, 'out'));
    for (const command of ['cat out/passwd', 'ls out', 'grep -r x out', 'ls && head out/passwd'])
      expect(await ruling(command), command).toBe('ask');
  });

  test('to a denied path is asked for', async () => {
    symlinkSync('.env', join(root, 'link'));
    expect(await ruling('cat link', [{ tool: 'read', path: '.env', decision: 'deny' }])).toBe(
      'ask',
    );
  });
});

describe('a program', () => {
  test('inside the workspace is asked for', async () => {
    const bin = join(root, 'node_modules/.bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'ls'), '#!/bin/sh\n');
    vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
    expect(await ruling('ls')).toBe('allow');
    chmodSync(join(bin, 'ls'), 0o755);
    expect(await ruling('ls')).toBe('ask');
    expect(await ruling('cat a.txt')).toBe('allow');
  });

  test.each([
    ['grep', 'egrep a a.txt'],
    ['grep', 'cat a.txt | fgrep a'],
    ['ls', 'ls --unknown'],
    ['cat', 'cat -X a.txt'],
    ['find', 'find . -newer a.txt'],
  ])(
    '18.891: attack: %s of the folder runs for `%s`, also with a prefix rule',
    async (name, command) => {
      const bin = join(root, 'node_modules/.bin');
      writeTree(bin, { [name]: '#!/bin/sh\n' });
      const rules = ['egrep', 'fgrep', 'cat', 'ls', 'find'].map(
        (rule) => ({ tool: 'bash', command: rule, decision: 'allow' }) as const,
      );
      vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
      expect(await ruling(command, rules)).toBe('allow');
      chmodSync(join(bin, name), 0o755);
      expect(await ruling(command, rules)).toBe('ask');
      expect(await ruling(command)).toBe('ask');
    },
  );

  test('18.892: attack: a program of the project runs, and the workspace is a subfolder', async () => {
    const inner = join(root, 'inner');
    writeTree(root, { 'node_modules/.bin/ls': '#!/bin/sh\n', 'inner/a.txt': 'a' });
    chmodSync(join(root, 'node_modules/.bin/ls'), 0o755);
    vi.stubEnv('PATH', `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`);
    root = inner;
    expect(await ruling('ls')).toBe('ask');
    expect(await ruling('cat a.txt')).toBe('allow');
  });

  test('that is searched in the current folder is asked for', async () => {
    vi.stubEnv('PATH', `${delimiter}${process.env['PATH']}`);
    expect(await ruling('ls')).toBe('ask');
    expect(await ruling('pwd')).toBe('allow');
  });
});

describe('git', () => {
  const git = (...words: string[]) => execFileSync('git', ['-C', root, ...words]);
  beforeEach(() => {
    git('init', '-q');
  });

  test('needs no rule in a plain repository', async () => {
    git('config', 'remote.origin.url', 'https://example.com/x');
    expect(await ruling('git status')).toBe('allow');
  });

  test.each([
    ['core.fsmonitor', 'sh -c evil'],
    ['core.hooksPath', 'evil'],
    ['core.pager', 'evil'],
    ['core.worktree', '/'],
    ['diff.external', 'evil'],
    ['diff.x.textconv', 'evil'],
    ['filter.x.clean', 'evil'],
    ['gpg.program', 'evil'],
    ['include.path', 'evil'],
    ['remote.origin.uploadpack', 'evil'],
    ['remote.origin.promisor', 'true'],
    ['extensions.worktreeConfig', 'true'],
    ['alias.status', '!evil'],
  ])('is asked for if %s is set', async (name, value) => {
    git('config', name, value);
    expect(await ruling('git status')).toBe('ask');
    expect(await ruling('ls && git diff')).toBe('ask');
  });

  test('is asked for if reading runs a hook', async () => {
    writeTree(root, { '.git/hooks/post-index-change': '#!/bin/sh\n' });
    expect(await ruling('git status')).toBe('ask');
  });

  test('is asked for if there are submodules', async () => {
    writeFileSync(join(root, '.gitmodules'), '');
    expect(await ruling('git status')).toBe('ask');
    rmSync(join(root, '.gitmodules'));
    mkdirSync(join(root, '.git/modules'));
    expect(await ruling('git status')).toBe('allow');
    mkdirSync(join(root, '.git/modules/inner'));
    expect(await ruling('git status')).toBe('ask');
    rmSync(join(root, '.git/modules'), { recursive: true });
    git('init', '-q', 'inner');
    const commit = ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--allow-empty'];
    git('-C', 'inner', ...commit, '-qm', 'one');
    expect(await ruling('git status')).toBe('allow');
    git('-c', 'advice.addEmbeddedRepo=false', 'add', 'inner');
    expect(await ruling('git status')).toBe('ask');
  });

  test('is asked for if git finds another repository than that of the folder', async () => {
    rmSync(join(root, '.git/HEAD'));
    expect(await ruling('git status')).toBe('ask');
    rmSync(join(root, '.git'), { recursive: true });
    expect(await ruling('git status')).toBe('ask');
    writeFileSync(join(root, '.git'), 'gitdir: elsewhere\n');
    expect(await ruling('git status')).toBe('ask');
  });
});
