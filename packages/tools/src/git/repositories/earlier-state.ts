import { basename, dirname, join } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { isBelow } from '../../workspace/match-path.ts';
import { entryOf } from '../../workspace/real-form.ts';
import { entryKeys } from '../git-folder/unusual-entries.ts';
import { type EarlierKeys, type EarlierState, earlierKey } from './earlier-keys.ts';
import { innerKeys, surveyInner } from './inner-git-folders.ts';
import { repositoryKeys } from './judge-repositories.ts';
import { readFolder } from './read-folder.ts';
import type { Risk } from './removal/remove-risk.ts';
import type { FoundRepository, RepositorySearch } from './repository-search.ts';
import { hasHiddenWorktree } from './settings-risk.ts';
import { commonFolderOf, gitFolderOf } from './submodules.ts';

/** Options of `earlierState`. */
interface EarlierOptions {
  /** The real path of the workspace. */
  readonly root: string;
  /** The repositories in the folders of the workspace. */
  readonly known: readonly FoundRepository[];
  /** The paths that the sandbox guards. */
  readonly guarded: readonly string[];
  readonly search: RepositorySearch;
  /** Searches the git folders. */
  readonly inner: RepositorySearch;
  /** The keys before earlier commands that nobody has checked. Things without a key in each set count as new. */
  readonly unchecked?: readonly EarlierKeys[] | undefined;
}

/** Returns the state of a workspace in which no command runs. */
export function earlierState(options: EarlierOptions): EarlierState {
  const { root, search, inner, unchecked = [] } = options;
  const wasSeen = (key: string) => unchecked.every((keys) => keys.has(key));
  const guardKey = (path: string) => earlierKey('guarded', path);
  const isKnownOne = (one: FoundRepository) => repositoryKeys(one).every(wasSeen);
  const known = options.known.filter(isKnownOne);
  const wasGuarded = (path: string) =>
    unchecked.every((keys) => pathsTo(root, path).some((one) => keys.has(guardKey(one))));
  const guarded = options.guarded.filter(wasGuarded);
  const ofRoot = { ...(readFolder(root, undefined, 0) ?? nothing), folder: root };
  const folders = [
    ...[root, ...known.filter(({ hasGit }) => hasGit).map(({ folder }) => folder)].map(gitFolderOf),
    ...known.filter(({ isBare }) => isBare).map(({ folder }) => folder),
  ];
  // Commands cannot change repositories outside of the workspace.
  const gitFolders = folders.filter((git) => git !== undefined && isBelow(root, git)) as string[];
  const added = gitFolders
    .flatMap((git) => ['commondir', 'config.worktree'].map((name) => join(git, name)))
    .filter((path) => entryOf(path) !== undefined && !wasGuarded(path));
  const now = [
    ...[...known, ofRoot].flatMap(repositoryKeys),
    ...guarded.map(guardKey),
    ...indexKeys(gitFolders, search),
  ];
  const common = gitFolders.map(commonFolderOf).filter((git) => isBelow(root, git));
  const searched = [...new Set([...gitFolders, ...common])];
  const entries = new Set(entryKeys(searched).filter(wasSeen));
  const seen = surveyInner(root, searched, inner).then((found) => {
    const problem = found.problem === undefined ? [] : [gitProblem];
    const keys = [...now, ...innerKeys(found)].filter(wasSeen);
    return new Set([...keys, ...entries, ...problem]);
  });
  // The caller waits for the state later.
  seen.catch(() => {});
  const newRoot = isKnownOne(ofRoot) ? undefined : ofRoot;
  const isUnchecked = unchecked.length > 0;
  return { known, guarded, newRoot, isUnchecked, gitFolders, searched, added, entries, seen };
}

/** The key for a search that did not find everything in the git folders. */
export const gitProblem: string = earlierKey('problem');

/** Returns the path and the folders above it, up to the root. */
function pathsTo(root: string, path: string): readonly string[] {
  return isBelow(root, path) ? [path, ...pathsTo(root, dirname(path))] : [path];
}

const nothing = { isBare: false, hasGit: false } as const;

/** Returns the keys of the indexes of these git folders, and of their submodules. */
function indexKeys(gitFolders: readonly string[], search: RepositorySearch): string[] {
  search.startCheck();
  return gitFolders.flatMap((git) => {
    const { stamp, submodules = [] } = search.readIndex(git);
    if (stamp === undefined) throw tooLarge(git);
    const paths = submodules.map((path) => earlierKey('submodule', git, path));
    return [earlierKey('index', git, stamp), ...paths];
  });
}

function tooLarge(git: string): SandboxError {
  const message = `Cannot protect the index of ${git}: the indexes of the workspace cannot be read, or have more than 256 MiB together. Work in a folder below it, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path: git });
}

interface IndexOptions {
  readonly root: string;
  readonly search: RepositorySearch;
  readonly known: readonly FoundRepository[];
  readonly harmless: Promise<ReadonlySet<string>>;
}

/**
 * Returns the indexes that a command has changed in a way that cannot be checked, and the repositories with programs
 * that it has made submodules. Such a repository existed before, but git ran nothing of it.
 */
export async function changedIndexes(
  options: IndexOptions,
  gitFolders: readonly string[],
  seen: EarlierKeys,
): Promise<readonly Risk[]> {
  const { root, search } = options;
  const risks: Risk[] = [];
  search.startCheck();
  for (const folder of gitFolders) {
    const { stamp, submodules } = search.readIndex(folder);
    if (stamp !== undefined && seen.has(earlierKey('index', folder, stamp))) continue;
    const worktree = basename(folder) === '.git' ? dirname(folder) : undefined;
    const added = submodules?.filter((path) => !seen.has(earlierKey('submodule', folder, path)));
    const isRisk =
      added === undefined ||
      (added.length > 0 && (await hasHiddenWorktree(folder, root, worktree)));
    if (isRisk) risks.push({ folder, names: ['index'], why: 'its index cannot be checked' });
    else risks.push(...(await withPrograms(folder, added, options)));
  }
  return risks;
}

/** Returns the repositories of these submodules that existed before the command and that can run programs. */
async function withPrograms(
  git: string,
  submodules: readonly string[],
  { root, known, harmless }: IndexOptions,
): Promise<readonly Risk[]> {
  if (submodules.length === 0) return [];
  const withGit = known.filter(({ hasGit }) => hasGit);
  const worktrees = [root, ...withGit.map(({ folder }) => folder)];
  const own = worktrees.filter((folder) => gitFolderOf(folder) === git);
  const paths = new Set(own.flatMap((folder) => submodules.map((path) => join(folder, path))));
  const isHarmless = await harmless;
  return withGit
    .filter(({ folder }) => paths.has(folder))
    .filter((one) => !repositoryKeys({ ...one, isBare: false }).some((key) => isHarmless.has(key)))
    .map(({ folder }) => ({
      folder,
      names: ['.git'],
      effect: 'git status of the folder above would run its programs',
      why: 'the command made it a submodule. Remove it with git rm --cached before you rename it back',
    }));
}
