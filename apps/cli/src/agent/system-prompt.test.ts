import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readGitBranch } from '@millrace/tools';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { folderWith } from '../testing/test-agent.ts';
import { readProjectInstructions } from './system-prompt.ts';

let root: string;
let repository: string;
let deep: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-agents-')));
  repository = join(root, 'repository');
  deep = join(repository, 'a/b');
  mkdirSync(deep, { recursive: true });
  mkdirSync(join(repository, '.git'));
});
afterEach(() => rmSync(root, { recursive: true }));

const put = (folder: string, text: string) => writeFileSync(join(folder, 'AGENTS.md'), text);
const textsAt = async (folder: string) =>
  (await readProjectInstructions(folder)).map(({ text }) => text);

test('they are read from the root of the repository down, and not from above it', async () => {
  put(root, 'outside');
  put(repository, 'root\n');
  put(deep, 'deep');
  expect(await readProjectInstructions(deep)).toEqual([
    { path: join(repository, 'AGENTS.md'), text: 'root', isClipped: false, origin: 'project' },
    { path: join(deep, 'AGENTS.md'), text: 'deep', isClipped: false, origin: 'project' },
  ]);
  expect(await textsAt(repository)).toEqual(['root']);
});

test('without a repository it is the one of the folder alone', async () => {
  put(root, 'above');
  const folder = join(root, 'plain');
  mkdirSync(folder);
  expect(await textsAt(folder)).toEqual([]);
  put(folder, 'own');
  expect(await textsAt(folder)).toEqual(['own']);
});

test('a link that leads out of the repository is not followed, one inside is', async () => {
  writeFileSync(join(root, 'secret'), 'hush');
  symlinkSync(join(root, 'secret'), join(repository, 'AGENTS.md'));
  put(join(repository, 'a'), 'inside');
  symlinkSync('../AGENTS.md', join(deep, 'AGENTS.md'));
  expect(await textsAt(deep)).toEqual(['inside', 'inside']);
});

test('what is no file is left alone, what is empty says nothing, what is long is clipped', async () => {
  mkdirSync(join(repository, 'AGENTS.md'));
  execFileSync('mkfifo', [join(repository, 'a/AGENTS.md')]);
  put(deep, ' \n');
  expect(await textsAt(deep)).toEqual([]);
  put(deep, 'x'.repeat(70_000));
  const [long] = await readProjectInstructions(deep);
  expect(long).toMatchObject({ isClipped: true, text: 'x'.repeat(65_536) });
});

test('the branch of a folder is that of the repository it is in', async () => {
  const root = folderWith({ '.git/HEAD': 'ref: refs/heads/main\n', 'a/b/c': '' });
  expect(await readGitBranch(join(root, 'a/b'))).toBe('main');
});

test('of a work tree it is the one that its file leads to', async () => {
  const root = folderWith({
    'main/.git/worktrees/w/HEAD': 'ref: refs/heads/other\n',
    'w/.git': 'gitdir: ../main/.git/worktrees/w\n',
  });
  expect(await readGitBranch(join(root, 'w'))).toBe('other');
});

test('there is none without a repository, on no branch, and in one that is broken', async () => {
  expect(await readGitBranch(folderWith())).toBeUndefined();
  expect(await readGitBranch(folderWith({ '.git/HEAD': '0123456789abcdef\n' }))).toBeUndefined();
  expect(await readGitBranch(folderWith({ '.git': 'nonsense' }))).toBeUndefined();
});
