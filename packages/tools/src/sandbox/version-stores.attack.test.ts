import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { readProtection } from '../permissions/protected-paths.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { moveAway } from '../workspace/kept-names.ts';
import { findDeniedPaths } from './hidden-paths.ts';
import { unaskedReading } from './unasked-reading.ts';

// A repository in the workspace contains a denied file. The sandbox hides the file, but a command could read its
// content from the repository.

const rules: readonly PermissionRule[] = [{ path: 'secret.txt', decision: 'deny' }];
const git = (cwd: string, ...words: readonly string[]) => execFileSync('git', words, { cwd });

function repositoryIn(folder: string, files: Readonly<Record<string, string>>) {
  mkdirSync(folder, { recursive: true });
  git(folder, 'init', '-q');
  writeTree(folder, files);
  git(folder, 'add', '-A', '-f');
}

const gapIn = async (root: string, given = rules) =>
  (await findDeniedPaths(permissionPolicy({ root, rules: given }), 'bash')).gap;

test('18.534: attack: a repository in a folder of the workspace tracks a denied file', async () => {
  const root = temporaryFolder();
  repositoryIn(join(root, 'deep/app'), { 'a.txt': 'a', 'conf/secret.txt': 'KEY' });
  expect(await gapIn(root)).toBe('git tracks deep/app/conf/secret.txt, which is denied');
  // A rule for a different file, and a rule for a path that the workspace cannot contain, change nothing.
  expect(await gapIn(root, [{ path: 'other.txt', decision: 'deny' }])).toBeUndefined();
  // The outer repository ignores the inner one.
  git(root, 'init', '-q');
  writeTree(root, { '.gitignore': 'deep/\n' });
  git(root, 'add', '-A');
  expect(await gapIn(root)).toContain('deep/app/conf/secret.txt');
  // The git folder has a different name, and the file `.git` leads to it.
  git(join(root, 'deep/app'), 'init', '-q', '--separate-git-dir', join(root, 'store'));
  expect(await gapIn(root)).toContain('deep/app/conf/secret.txt');
  // Without its worktree, nobody knows the paths of the files.
  rmSync(join(root, 'deep/app/.git'));
  expect(await gapIn(root)).toBe('the repository in store cannot be checked for denied files');
  expect(await gapIn(root, [{ path: '/nowhere/x', decision: 'deny' }])).toBeUndefined();
});

test('18.534: attack: a repository whose files are not listed contains a denied file', async () => {
  const root = temporaryFolder();
  repositoryIn(join(root, 'app'), { 'secret.txt': 'KEY' });
  const index = join(root, 'app/.git/index');
  rmSync(index);
  expect(await gapIn(root)).toContain('cannot be checked');
  symlinkSync('/dev/null', index);
  expect(await gapIn(root)).toContain('cannot be checked');
  rmSync(join(root, 'app/.git'), { recursive: true });
  symlinkSync('elsewhere', join(root, 'app/.git'));
  expect(await gapIn(root)).toBe('the repository in app cannot be checked for denied files');
});

test('18.1789: attack: the sandbox has renamed a repository that contains a denied file', async () => {
  const root = temporaryFolder();
  repositoryIn(join(root, 'app'), { 'secret.txt': 'KEY' });
  moveAway(join(root, 'app/.git'));
  expect(await gapIn(root)).toContain('can contain versions of denied files');
  const bare = temporaryFolder();
  git(bare, 'init', '-q', '--bare', 'store.git');
  mkdirSync(join(bare, 'store.git/objects/ab'));
  expect(await gapIn(bare)).toContain('cannot be checked for denied files');
  moveAway(join(bare, 'store.git/HEAD'));
  expect(await gapIn(bare)).toContain('cannot be checked for denied files');
  const other = temporaryFolder();
  writeTree(other, { 'secret.txt': 'KEY', '.hg/store/x': '' });
  moveAway(join(other, '.hg'));
  expect(await gapIn(other)).toContain('can contain versions of denied files');
});

test('18.534: repositories without a denied file leave no gap', async () => {
  const root = temporaryFolder();
  repositoryIn(root, { 'a.txt': 'a' });
  repositoryIn(join(root, 'app'), { 'b.txt': 'b' });
  git(root, 'init', '-q', 'new');
  git(root, 'init', '-q', '--bare', 'new.git');
  writeTree(root, { 'app/secret.txt': 'KEY' });
  expect(await gapIn(root)).toBeUndefined();
});

test.each(['.svn/pristine/ab/abc.svn-base', '.hg/store/data/secret.txt.i', 'sub/.JJ/repo/x'])(
  '18.533: attack: a version control system keeps a denied file in %s',
  async (path) => {
    const root = temporaryFolder();
    writeTree(root, { 'secret.txt': 'KEY', [path]: 'KEY' });
    expect(await gapIn(root)).toMatch(/\/\.(?:svn|hg|JJ) can contain versions of denied files$/);
    const inside = path.replace(/\.(\w+)\/.*/, '.$1/**');
    // The store is hidden, and the rule does not apply here.
    expect(await gapIn(root, [...rules, { path: inside, decision: 'deny' }])).toBeUndefined();
    expect(await gapIn(root, [{ path: '/nowhere/x', decision: 'deny' }])).toBeUndefined();
  },
);

test('18.533: attack: a command that needs no approval reads a copy of a secret', async () => {
  const root = temporaryFolder();
  const folders = ['.svn', '.hg', '.jj', '.sl', '.bzr', '.pijul', '_darcs'];
  writeTree(root, {
    ...Object.fromEntries(folders.map((name) => [`sub/${name}/pristine/ab/abc.svn-base`, 'KEY'])),
    'mirror/HEAD': 'ref: refs/heads/main\n',
    'mirror/objects/ab/c': 'KEY',
    'mirror/refs/heads/main': '',
    'a.txt': 'a',
  });
  const policy = permissionPolicy({ root, rules: [], freeReading: true });
  const reading = unaskedReading(() => policy);
  const hidden = await reading.hiddenPaths({ tool: 'bash', input: { command: 'cat */*/*/*/*' } });
  const expected = [...folders.map((name) => `sub/${name}`), 'mirror'];
  expect(hidden?.toSorted()).toEqual(expected.map((name) => join(root, name)).toSorted());
  for (const name of folders) {
    const path = `sub/${name}/pristine/ab/abc.svn-base`;
    expect(readProtection(path)?.why, path).toBe('secret');
    expect(policy.mayRead({ path, kind: 'read' })).toBe(false);
    const read = policy.decide({ tool: 'read', input: { path } });
    expect(read.decision).toBe('ask');
  }
});
