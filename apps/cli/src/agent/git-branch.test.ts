import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderWith } from '../testing/stage.ts';
import { gitBranch } from './git-branch.ts';

test('the branch of a folder is that of the repository it is in', async () => {
  const root = folderWith({ '.git/HEAD': 'ref: refs/heads/main\n', 'a/b/c': '' });
  expect(await gitBranch(join(root, 'a/b'))).toBe('main');
});

test('of a work tree it is the one that its file leads to', async () => {
  const root = folderWith({
    'main/.git/worktrees/w/HEAD': 'ref: refs/heads/other\n',
    'w/.git': 'gitdir: ../main/.git/worktrees/w\n',
  });
  expect(await gitBranch(join(root, 'w'))).toBe('other');
});

test('there is none without a repository, on no branch, and in one that is broken', async () => {
  expect(await gitBranch(folderWith())).toBeUndefined();
  expect(await gitBranch(folderWith({ '.git/HEAD': '0123456789abcdef\n' }))).toBeUndefined();
  expect(await gitBranch(folderWith({ '.git': 'nonsense' }))).toBeUndefined();
});
