import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { SandboxError } from '../../contract/sandbox.ts';
import { temporaryFolder, writeTree } from '../../testing/temporary-folder.ts';
import { RepositorySearch } from './repository-search.ts';

// A command leaves files or folders that hide a repository from the search. The repository would then be
// unguarded while the next command runs.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'vendor/x/.git/HEAD': 'ref: refs/heads/main\n' });
});

const found = () => new RepositorySearch().find(root).map(({ folder }) => folder);

test.for([
  ['three empty files', { 'vendor/HEAD': '', 'vendor/objects': '', 'vendor/refs': '' }],
  ['a bare repository', { 'vendor/HEAD': '', 'vendor/objects/a': '', 'vendor/refs/a': '' }],
  ['files of the root', { HEAD: 'ref: refs/heads/main\n', 'objects/a': '', 'refs/a': '' }],
  ['a repository', { 'vendor/.git/HEAD': '' }],
  ['a hundred folders', Object.fromEntries(numbers(100).map((n) => [`a${n}/.git/x`, '']))],
  ['deep folders', { 'vendor/a/b/c/d/e/f/g/h/.git/x': '' }],
] as const)('attack: %s above or beside a repository do not hide it', ([, files]) => {
  writeTree(root, files);
  expect(found()).toContain(join(root, 'vendor/x'));
});

test('attack: a repository in a deep folder is found', () => {
  const deep = 'a/b/c/d/e/f/g/h/i';
  writeTree(root, { [`${deep}/.git/HEAD`]: '' });
  expect(found()).toContain(join(root, deep));
});

test('attack: no search returns a part of the repositories', () => {
  for (const n of numbers(200)) mkdirSync(join(root, `a${n}/.git`), { recursive: true });
  expect(() => found()).toThrow(SandboxError);
  expect(() => found()).toThrow('there are more than 200');
});

test('attack: no search leaves out folders', () => {
  for (const n of numbers(20)) mkdirSync(join(root, `a${n}/b`), { recursive: true });
  const search = (maxFolders: number) => new RepositorySearch({ maxFolders }).find(root);
  expect(search(43)).toHaveLength(1);
  expect(() => search(42)).toThrow('it has more than 42 folders');
});

test('attack: a folder that its owner cannot list is an error', () => {
  if (process.getuid?.() === 0) {
    // Root can list every folder, so this mock answers like the system for other users.
    const fs = process.getBuiltinModule('node:fs');
    const read = vi.spyOn(fs, 'readdirSync').mockImplementation(() => {
      throw Object.assign(new Error('no'), { code: 'EACCES' });
    });
    process.getBuiltinModule('node:module').syncBuiltinESMExports();
    onTestFinished(() => {
      read.mockRestore();
      process.getBuiltinModule('node:module').syncBuiltinESMExports();
    });
  }
  chmodSync(join(root, 'vendor'), 0o300);
  onTestFinished(() => chmodSync(join(root, 'vendor'), 0o700));
  expect(() => found()).toThrow(/Cannot search .* for repositories to protect: EACCES/);
});

/** Makes a folder a submodule of the root. */
function addSubmodule(folder: string): void {
  const git = (...words: string[]) => execFileSync('git', ['-C', root, ...words]);
  git('init', '-q');
  git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},${folder}`);
}

test('attack: a submodule in a folder of packages, or behind many folders, is found', () => {
  const [hidden, deep] = ['node_modules/a', 'b/c/d/e'];
  writeTree(root, { [`${hidden}/.git/HEAD`]: '', [`${deep}/.git/HEAD`]: '' });
  for (const folder of [hidden, deep]) addSubmodule(folder);
  for (const n of numbers(20)) mkdirSync(join(root, `a${n}`));
  const { found: all, problem } = new RepositorySearch({ maxFolders: 10 }).survey(root);
  const folders = all.map(({ folder }) => folder);
  expect(folders).toEqual(expect.arrayContaining([join(root, hidden), join(root, deep)]));
  expect(problem?.message).toContain('it has more than 10 folders');
});

test('attack: a repository in a folder whose name is no text is an error', (context) => {
  const folder = Buffer.concat([Buffer.from(`${root}/a`), Buffer.from([0xff])]);
  try {
    mkdirSync(folder);
  } catch {
    return context.skip('The file system accepts only text as names');
  }
  expect(found()).toEqual([join(root, 'vendor/x')]);
  mkdirSync(Buffer.concat([folder, Buffer.from('/.git')]));
  expect(() => found()).toThrow('the name of its folder is no text');
  expect(new RepositorySearch().survey(root).found).toHaveLength(1);
});

test('a folder with the names of a bare repository is found, whatever they are', () => {
  writeTree(root, { 'b/HEAD': '', 'b/objects/x': '', 'b/refs': '' });
  writeFileSync(join(root, 'b/config'), '');
  expect(new RepositorySearch().find(root)).toContainEqual({
    ...{ folder: join(root, 'b'), isBare: true, hasGit: false },
  });
});

test('the objects of a bare repository are searched, except in a .git', () => {
  const objects = Object.fromEntries(numbers(90).map((n) => [`b/objects/${n + 10}/x`, '']));
  writeTree(root, { 'b/HEAD': '', 'b/refs/x': '', ...objects, 'b/objects/10/.git/x': '' });
  expect(new RepositorySearch().find(root)).toHaveLength(3);
  expect(new RepositorySearch({ maxFolders: 10, skipsObjects: true }).find(root)).toHaveLength(2);
});

test('folders with packages are searched if that is asked for', () => {
  writeTree(root, { 'node_modules/x/node_modules/y/.git/x': '' });
  const { found: all, packages } = new RepositorySearch().survey(root);
  expect([all.length, packages]).toEqual([1, [join(root, 'node_modules')]]);
  const search = new RepositorySearch({ searchesPackages: true });
  expect(search.find(root).map(({ folder }) => folder)).toContain(
    join(root, 'node_modules/x/node_modules/y'),
  );
});

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
