import { lstat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readRegularFile } from './read-regular-file.ts';
import { findRepositoryRisk } from './repository-risk.ts';
import { runGit } from './run-git.ts';

/** Maximum number of repositories that are checked. If there are more, the folder counts as a risk. */
const maxInner = 50;
/** Maximum size of the small files of a worktree, in bytes. */
const maxBytes = 4096;

/**
 * Returns the reason why a git command that changes something could run programs of a repository in an
 * inner folder. `git add` makes such a folder a submodule, and `git checkout` can do so with a folder
 * from an archive. Git then runs the programs in the settings of that folder. With `ignored`, folders
 * that git ignores count too.
 */
export async function findInnerRisk(
  root: string,
  { ignored }: { readonly ignored: boolean },
): Promise<string | undefined> {
  const words = ['ls-files', '--others', '-z', ...(ignored ? [] : ['--exclude-standard'])];
  const listed = await runGit(words, { cwd: root, env: process.env });
  if (listed === undefined || listed.isCut) return 'its folders cannot be checked';
  // The list of git has only those folders that are repositories.
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

/** True if a folder is a linked worktree of this repository and uses its settings. */
async function isOwnWorktree(folder: string, root: string): Promise<boolean> {
  const textOf = async (path: string) => (await readRegularFile(path, maxBytes))?.toString('utf8');
  const link = /^gitdir: (\S[^\r\n]*)\n?$/.exec((await textOf(join(folder, '.git'))) ?? '')?.[1];
  const own = resolve(folder, link ?? '');
  if (link === undefined || dirname(own) !== join(root, '.git/worktrees')) return false;
  const settings = await lstat(join(own, 'config.worktree')).catch(() => undefined);
  return settings === undefined && (await textOf(join(own, 'commondir')))?.trim() === '../..';
}
