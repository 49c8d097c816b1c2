import { basename, dirname, sep } from 'node:path';
import type { Risk } from './remove-risk.ts';
import type { FoundRepository, RepositorySearch } from './repository-search.ts';
import { hasHiddenWorktree } from './settings-risk.ts';
import { gitFolderOf, type ReadIndex } from './submodules.ts';

interface KnownRepositories {
  /** The real path of the workspace. */
  readonly root: string;
  readonly known: readonly FoundRepository[];
  readonly search: RepositorySearch;
}

/** The indexes before the command, by git folder. */
export type Indexes = ReadonlyMap<string, ReadIndex>;

/** Reads the indexes of the workspace and of the known repositories. */
export function indexesOf({ root, known, search }: KnownRepositories): Indexes {
  const folders = [
    ...[root, ...known.filter(({ hasGit }) => hasGit).map(({ folder }) => folder)].map(gitFolderOf),
    ...known.filter(({ isBare }) => isBare).map(({ folder }) => folder),
  ];
  // Commands cannot change repositories outside the workspace.
  search.startCheck();
  const inside = folders.filter((git) => git?.startsWith(root + sep) === true);
  return new Map(inside.map((git = '') => [git, search.readIndex(git)]));
}

/** Returns the known repositories whose index a command has changed in a way that cannot be checked. */
export async function changedIndexes(
  { root, search }: Pick<KnownRepositories, 'root' | 'search'>,
  before: Indexes,
): Promise<readonly Risk[]> {
  const risks: Risk[] = [];
  search.startCheck();
  for (const [folder, earlier] of before) {
    const { stamp, submodules } = search.readIndex(folder);
    if (stamp === earlier.stamp) continue;
    const known = new Set(earlier.submodules);
    const worktree = basename(folder) === '.git' ? dirname(folder) : undefined;
    const isRisk =
      submodules === undefined ||
      (submodules.some((one) => !known.has(one)) &&
        (await hasHiddenWorktree(folder, root, worktree)));
    if (isRisk) risks.push({ folder, names: ['index'], why: 'its index cannot be checked' });
  }
  return risks;
}
