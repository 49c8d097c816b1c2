import { join, resolve } from 'node:path';
import { readRegularFile } from './read-regular-file.ts';
import { isOwnRepository } from './repository-owner.ts';
import { branchOf } from './repository-risk.ts';
import { findRepositoryRoot } from './run-git.ts';

const maxBytes = 4096;
const maxBranchLength = 200;

/**
 * Returns the current branch of a folder's repository, without running git. Returns undefined if there is no
 * repository or no branch, or if the repository belongs to another user. It also returns undefined if a file of
 * the repository is too long or not a regular file.
 */
export async function readGitBranch(folder: string): Promise<string | undefined> {
  const root = await findRepositoryRoot(folder);
  if (root === undefined) return undefined;
  const own = await gitFolder(root);
  if (!(await isOwnRepository([root, join(root, '.git'), own]))) return undefined;
  const head = await readRegularFile(join(own, 'HEAD'), maxBytes);
  const name = /^heads\/(.+)$/.exec(branchOf(head?.toString('utf8') ?? '') ?? '')?.[1];
  return name !== undefined && name.length <= maxBranchLength ? name : undefined;
}

/**
 * Returns the git folder of a repository. In a linked worktree, `.git` is a file with the path of the git
 * folder.
 */
async function gitFolder(root: string): Promise<string> {
  const path = join(root, '.git');
  const pointer = await readRegularFile(path, maxBytes);
  const target = /^gitdir: (.+)$/m.exec(pointer?.toString('utf8') ?? '')?.[1];
  return target === undefined ? path : resolve(root, target.trim());
}
