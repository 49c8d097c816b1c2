import { lstat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readRegularFile } from './read-regular-file.ts';
import { findRepositoryRisk } from './repository-risk.ts';
import { runGit } from './run-git.ts';

/** Maximum number of repositories to check. A folder with more repositories counts as a risk. */
const maxInner = 50;
/** A person waits for this list. A FIFO with the name `.gitignore` would make git wait for ever. */
const limits = { timeoutMs: 3000, pauseMs: 60_000 } as const;
/** Maximum size of the `.git` and `commondir` files of a worktree, in bytes. */
const maxBytes = 4096;

/**
 * Returns the reason why a git command that changes files could run programs of an inner repository. `git
 * add` can turn an inner folder into a submodule, and `git checkout` can do so with a folder from an archive.
 * Git then runs the programs in the settings of that folder. With `ignored`, it also checks folders that git
 * ignores.
 */
export async function findInnerRisk(
  root: string,
  { ignored }: { readonly ignored: boolean },
): Promise<string | undefined> {
  const words = ['ls-files', '--others', '-z', ...(ignored ? [] : ['--exclude-standard'])];
  const listed = await runGit(words, { cwd: root, env: process.env, ...limits });
  if (listed === undefined || listed.isCut) return 'its folders cannot be checked';
  // Git lists only inner folders that are repositories.
  const inner = listed.output
    .toString('utf8')
    .split('\0')
    .filter((path) => path.endsWith('/'));
  if (inner.length > maxInner) return `it has more than ${maxInner} repositories in it`;
  for (const path of inner) {
    const risk = await riskOfFolder(join(root, path), root);
    if (risk !== undefined) return `it has the repository ${path.slice(0, -1)}: ${risk}`;
  }
  return undefined;
}

async function riskOfFolder(folder: string, root: string): Promise<string | undefined> {
  const found = await lstat(join(folder, '.git')).catch(() => undefined);
  if (found?.isFile() === true && (await isOwnWorktree(folder, root))) return undefined;
  return findRepositoryRisk(folder, 'changes');
}

/** True if the folder is a linked worktree of this repository and has no settings of its own. */
async function isOwnWorktree(folder: string, root: string): Promise<boolean> {
  const textOf = async (path: string) => (await readRegularFile(path, maxBytes))?.toString('utf8');
  const link = /^gitdir: (\S[^\r\n]*)\n?$/.exec((await textOf(join(folder, '.git'))) ?? '')?.[1];
  const own = resolve(folder, link ?? '');
  if (link === undefined || dirname(own) !== join(root, '.git/worktrees')) return false;
  const settings = await lstat(join(own, 'config.worktree')).catch(() => undefined);
  return settings === undefined && (await textOf(join(own, 'commondir')))?.trim() === '../..';
}
