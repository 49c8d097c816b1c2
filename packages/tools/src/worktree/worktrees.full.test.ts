import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { openWorktrees, type WorktreesOptions } from './worktrees.ts';

const lines = (...changed: readonly (readonly [number, string])[]) => {
  const all = Array.from({ length: 12 }, (_, at) => `line ${at + 1}`);
  for (const [line, text] of changed) all[line - 1] = text;
  return `${all.join('\n')}\n`;
};

/** Creates a repository with one commit, and its worktrees. */
function repository(
  files: Readonly<Record<string, string>>,
  given: Partial<WorktreesOptions> = {},
) {
  const [root, folder, copies] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], {
      ...{ cwd: root, encoding: 'utf8' },
    });
  git('init', '-q');
  writeTree(root, files);
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  const workspace = createWorkspace({ root });
  const options = { workspace, folder, copies, env: process.env, ...given };
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const kept = () => readdirSync(folder).filter((name) => /^millrace-[^.]*$/.test(name));
  return { root, git, options, workspace, worktrees: openWorktrees(options), read, kept };
}

describe('23.6: a worktree', () => {
  test('has the files as they are now, and its changes come back', async () => {
    const { root, workspace, worktrees, read, kept, git } = repository({
      ...{ 'a.txt': lines(), 'old.txt': 'old\n', 'gone.txt': 'x\n', '.gitignore': 'ignored\n' },
      'run.sh': '#!/bin/sh\n',
    });
    writeTree(root, { 'a.txt': lines([1, 'draft']), 'new/b.txt': 'untracked\n', ignored: 'i' });
    rmSync(join(root, 'gone.txt'));
    const worktree = await worktrees.open('task');
    const at = (path: string) => join(worktree.root, path);
    expect(readFileSync(at('a.txt'), 'utf8')).toBe(lines([1, 'draft']));
    expect(readFileSync(at('new/b.txt'), 'utf8')).toBe('untracked\n');
    expect(['gone.txt', 'ignored'].filter((path) => existsSync(at(path)))).toEqual([]);
    expect(git('worktree', 'list')).toContain(worktree.root);

    writeTree(worktree.root, { 'a.txt': lines([1, 'draft'], [12, 'theirs']), 'c/d.txt': 'made\n' });
    rmSync(at('old.txt'));
    chmodSync(at('run.sh'), 0o755);
    // Meanwhile, the caller changes the same file at a different place.
    writeFileSync(join(root, 'a.txt'), lines([1, 'draft'], [5, 'ours']));
    const report = await worktree.merge(workspace);
    expect(report).toEqual({
      ...{ merged: ['a.txt', 'c/d.txt', 'old.txt', 'run.sh'], conflicts: [], kept: undefined },
    });
    expect(read('a.txt')).toBe(lines([1, 'draft'], [5, 'ours'], [12, 'theirs']));
    expect(read('c/d.txt')).toBe('made\n');
    expect(existsSync(join(root, 'old.txt'))).toBe(false);
    expect(statSync(join(root, 'run.sh')).mode & 0o111).toBe(0o111);
    expect(kept()).toEqual([]);
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  });

  test('is removed if nothing changed', async () => {
    const { worktrees, workspace, kept } = repository({ 'a.txt': 'a\n' });
    const one = await worktrees.open('one');
    expect(await one.merge(workspace)).toMatchObject({ merged: [], kept: undefined });
    const two = await worktrees.open('two');
    expect(await two.discard()).toMatchObject({ conflicts: [], kept: undefined });
    expect(kept()).toEqual([]);
  });

  test('stays if a file cannot be merged, and the file here stays as it is', async () => {
    const { root, worktrees, workspace, read } = repository({
      ...{ 'same.txt': lines(), 'deleted.txt': 'x\n', 'changed.txt': 'x\n', 'good.txt': 'x\n' },
    });
    const worktree = await worktrees.open('task');
    writeTree(worktree.root, {
      ...{ 'same.txt': lines([3, 'theirs']), 'deleted.txt': 'theirs\n', 'good.txt': 'theirs\n' },
      'both.txt': 'theirs\n',
    });
    rmSync(join(worktree.root, 'changed.txt'));
    writeTree(root, {
      'same.txt': lines([3, 'ours']),
      'changed.txt': 'ours\n',
      'both.txt': 'ours\n',
    });
    rmSync(join(root, 'deleted.txt'));
    const report = await worktree.merge(workspace);
    expect(report.merged).toEqual(['good.txt']);
    expect(
      Object.fromEntries(report.conflicts.map(({ path, message }) => [path, message])),
    ).toEqual({
      'same.txt': 'the same lines were changed here too',
      'deleted.txt': 'the sub-agent changed it, and it was deleted here',
      'changed.txt': 'the sub-agent deleted it, and it was changed here too',
      'both.txt': 'it was created or changed here too, with a different content',
    });
    expect(read('same.txt')).toBe(lines([3, 'ours']));
    expect(report.kept).toBe(worktree.root);
    expect(readFileSync(join(worktree.root, 'same.txt'), 'utf8')).toBe(lines([3, 'theirs']));
    // The caller solves the conflicts. The same merge then finds nothing to do.
    writeTree(root, {
      'same.txt': lines([3, 'theirs']),
      'deleted.txt': 'theirs\n',
      'both.txt': 'theirs\n',
    });
    rmSync(join(root, 'changed.txt'));
    worktree.release();
    const again = await worktrees.open('task');
    expect(await again.merge(workspace)).toEqual({ merged: [], conflicts: [], kept: undefined });
  });

  test('loses nothing if its process is killed: the next process opens it with its changes', async () => {
    const { options, root, read } = repository({ 'a.txt': 'a\n' });
    const { folder, copies } = options;
    const module = new URL('../index.ts', import.meta.url).href;
    const script = `
      const { createWorkspace, openWorktrees } = await import(${JSON.stringify(module)});
      const { writeFileSync } = await import('node:fs');
      const options = ${JSON.stringify({ folder, copies })};
      const workspace = createWorkspace({ root: ${JSON.stringify(root)} });
      const worktree = await openWorktrees({ ...options, workspace, env: process.env }).open('task');
      writeFileSync(worktree.root + '/b.txt', 'work');
      console.log('ready');
      setInterval(() => {}, 1000);`;
    const words = ['--conditions=@millrace/source', '--input-type=module', '-e', script];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    const worktree = await openWorktrees(options).open('task');
    expect(readFileSync(join(worktree.root, 'b.txt'), 'utf8')).toBe('work');
    expect((await worktree.merge(options.workspace)).merged).toEqual(['b.txt']);
    expect(read('b.txt')).toBe('work');
  });

  test('that a killed process did not finish is created again', async () => {
    const { options, worktrees, git } = repository({ 'a.txt': 'a\n' });
    const first = await worktrees.open('task');
    // Without the note, the worktree counts as incomplete.
    rmSync(`${first.root}.json`);
    rmSync(join(first.root, 'a.txt'));
    const again = await openWorktrees(options).open('task');
    expect(again.root).toBe(first.root);
    expect(readFileSync(join(again.root, 'a.txt'), 'utf8')).toBe('a\n');
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(2);
  });

  test('waits while too many are open, and there is a limit for all', async () => {
    const { worktrees } = repository({ 'a.txt': 'a\n' }, { maxOpen: 1, maxKept: 2 });
    const first = await worktrees.open('one');
    const stop = new AbortController();
    const aborted = worktrees.open('aborted', stop.signal);
    let isOpen = false;
    const second = worktrees.open('two').then((one) => {
      isOpen = true;
      return one;
    });
    stop.abort(new Error('stopped'));
    await expect(aborted).rejects.toThrow('stopped');
    expect(isOpen).toBe(false);
    first.release();
    first.release();
    (await second).release();
    await expect(worktrees.open('three')).rejects.toThrow('already has 2 of this repository');
  });

  test('is in the folder of the agent below the root of the repository', async () => {
    const { root, options } = repository({ 'web/a.txt': 'a\n', 'b.txt': 'b\n' });
    const workspace = createWorkspace({ root: join(root, 'web') });
    const worktree = await openWorktrees({ ...options, workspace }).open('task');
    expect(readdirSync(worktree.root)).toEqual(['a.txt']);
    writeTree(worktree.root, { 'a.txt': 'changed\n', '../b.txt': 'not mine\n' });
    expect((await worktree.merge(workspace)).merged).toEqual(['a.txt']);
    expect(readFileSync(join(root, 'b.txt'), 'utf8')).toBe('b\n');
  });

  test('needs a repository with a commit and without risks', async () => {
    const root = temporaryFolder();
    const workspace = createWorkspace({ root });
    const options = { workspace, folder: temporaryFolder(), copies: temporaryFolder() };
    const open = () => openWorktrees({ ...options, env: process.env }).open('task');
    await expect(open()).rejects.toThrow('it is not in a git repository');
    execFileSync('git', ['init', '-q'], { cwd: root });
    await expect(open()).rejects.toThrow('needs at least one commit');
    execFileSync('git', ['config', 'filter.x.smudge', 'touch hacked'], { cwd: root });
    await expect(open()).rejects.toThrow('.git/config has settings');
  });
});
