import { execFileSync } from 'node:child_process';
import { lchownSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { isRequirementMissing } from '../../../log/src/testing/external-programs.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { readGitBranch } from './read-branch.ts';
import { runGit } from './run-git.ts';

// A different user of the machine creates a repository in a folder that all users share. The owner of a
// repository can change its settings between the check of the repository and the start of git.

const missing = isRequirementMissing(
  process.geteuid?.() === 0,
  'The files get another owner, which needs root',
);
const neighbour = 65_534;

let home: string;
let root: string;
let cwd: string;
beforeEach(() => {
  home = temporaryFolder();
  root = join(home, 'shared');
  cwd = join(root, 'mine');
  writeTree(root, { 'mine/a.txt': 'a' });
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: root });
  execFileSync('git', ['add', '.'], { cwd: root });
});

const list = async () => {
  const env = { PATH: process.env['PATH'] ?? '', HOME: home };
  return (await runGit(['ls-files'], { cwd, env }))?.output.toString();
};

function giveAway(path: string): void {
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }))
    lchownSync(join(path, name), neighbour, neighbour);
  lchownSync(path, neighbour, neighbour);
}

describe.skipIf(missing)('a repository of another user', () => {
  test('18.114: attack: git does not use a .git of another user', async () => {
    expect([await list(), await readGitBranch(cwd)]).toEqual(['a.txt\n', 'main']);
    giveAway(join(root, '.git'));
    expect([await list(), await readGitBranch(cwd)]).toEqual([undefined, undefined]);
  });

  test('18.114: attack: git does not use a folder of another user, who can replace its .git', async () => {
    lchownSync(root, neighbour, neighbour);
    expect([await list(), await readGitBranch(cwd)]).toEqual([undefined, undefined]);
  });

  test('18.114: attack: a .git file does not lead to the repository of another user', async () => {
    const other = join(home, 'other');
    mkdirSync(other);
    renameSync(join(root, '.git'), join(other, '.git'));
    giveAway(other);
    writeFileSync(join(root, '.git'), `gitdir: ${join(other, '.git')}\n`);
    expect([await list(), await readGitBranch(cwd)]).toEqual([undefined, undefined]);
  });

  test.each([
    [(folder: string) => [folder], 'a.txt\n'],
    [() => ['*'], 'a.txt\n'],
    [(folder: string) => [join(folder, '..', '*')], 'a.txt\n'],
    [(folder: string) => [folder, ''], undefined],
    [(folder: string) => [join(folder, 'mine'), '/elsewhere/*', 'shared'], undefined],
  ])('18.114: the user decides with safe.directory (case %#)', async (values, expected) => {
    giveAway(join(root, '.git'));
    const lines = values(root).map((value) => `directory = "${value}"\n`);
    writeFileSync(join(home, '.gitconfig'), `[safe]\n${lines.join('')}`);
    expect(await list()).toBe(expected);
  });
});
