import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { openWorktrees } from './worktrees.ts';

// A line of .gitignore matches files that git tracks, or files that a worktree already has. The work of the
// sub-agent must not disappear.

async function worktreeOf(files: Readonly<Record<string, string>>, below = '') {
  const [root, folder, copies] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], { cwd: root });
  git('init', '-q');
  writeTree(root, files);
  git('add', '-A', '-f');
  git('commit', '-q', '-m', 'first');
  writeTree(root, { [join(below, 'notes.txt')]: 'draft' });
  const workspace = createWorkspace({ root: join(root, below) });
  const worktrees = openWorktrees({ workspace, folder, copies, env: process.env });
  const worktree = await worktrees.open('task');
  const read = (path: string) => readFileSync(join(root, below, path), 'utf8');
  return { root: worktree.root, merge: () => worktree.merge(workspace), read, worktree, workspace };
}

test.each(['', 'app'])(
  '18.535: attack: changes of ignored files that git tracks are lost, in the folder "%s"',
  async (below) => {
    const at = (path: string) => join(below, path);
    const { root, merge, read } = await worktreeOf(
      { '.gitignore': 'dist/\n*.lock\n', [at('dist/in/a.js')]: 'old', [at('a.lock')]: 'old' },
      below,
    );
    // The sub-agent also ignores files that it has changed.
    writeTree(root, { 'dist/in/a.js': 'work', 'notes.txt': 'work', '.gitignore': '*\n' });
    rmSync(join(root, 'a.lock'));
    const { merged, conflicts, kept } = await merge();
    expect(merged).toEqual(expect.arrayContaining(['a.lock', 'dist/in/a.js', 'notes.txt']));
    expect({ conflicts, kept }).toEqual({ conflicts: [], kept: undefined });
    expect([read('dist/in/a.js'), read('notes.txt')]).toEqual(['work', 'work']);
    expect(existsSync(join(root, 'a.lock'))).toBe(false);
  },
);

test('18.535: attack: a tracked file below a link is not read through the link', async () => {
  const given = await worktreeOf({ '.gitignore': 'dist\n', 'dist/a.js': 'old' });
  const outside = temporaryFolder();
  writeTree(outside, { 'a.js': 'SECRET' });
  rmSync(join(given.root, 'dist'), { recursive: true });
  symlinkSync(outside, join(given.root, 'dist'));
  await given.merge();
  expect(given.read('dist/a.js')).toBe('old');
});

test('18.535: a sub-agent that changes no tracked file leaves no worktree', async () => {
  const { root, worktree } = await worktreeOf({ '.gitignore': 'dist/\n', 'dist/a.js': 'old' });
  writeTree(root, { 'dist/new.js': 'ignored' });
  expect(await worktree.discard()).toEqual({ merged: [], conflicts: [], kept: undefined });
});
