import { dirname, join, relative, sep } from 'node:path';
import { isBelow, isInside } from '../../workspace/match-path.ts';
import { entryOf } from '../../workspace/real-form.ts';
import type { Risk } from './remove-risk.ts';
import {
  type FoundRepositories,
  type FoundRepository,
  RepositorySearch,
} from './repository-search.ts';

/** An inner repository of a git folder. */
export interface InnerRepository extends FoundRepository {
  /** The folder of the repository that contains it. */
  readonly owner: string;
  /** True if it has the place in which git creates the repository of a submodule or of a linked worktree. */
  readonly isUsual: boolean;
}

/** Maximum number of folders in the git folder of a new repository. */
const maxFolders = 20_000;

/**
 * Returns the repositories inside a git folder, also in its objects. Throws a `SandboxError` if they cannot be found.
 * A program such as the prompt of a shell runs git in these folders too.
 */
export async function innerRepositories(git: string): Promise<readonly InnerRepository[]> {
  const search = new RepositorySearch({ maxFolders, searchesPackages: true });
  const { found, problem } = await search.surveyInSlices(git, [git]);
  if (problem !== undefined) throw problem;
  const folders = new Set([git, ...found.map(({ folder }) => folder)]);
  const own = entryOf(join(git, '.git')) === undefined ? [] : [{ ...ofGitFolder, folder: git }];
  return [...own, ...found].map((one) => {
    let owner = dirname(one.folder);
    while (owner !== git && isBelow(git, owner) && !folders.has(owner)) owner = dirname(owner);
    const [kind, ...names] = relative(owner, one.folder).split(sep);
    const isInPlace =
      (kind === 'modules' && names.length > 0) || (kind === 'worktrees' && names.length === 1);
    return { ...one, owner, isUsual: isInPlace && !one.hasGit };
  });
}

const ofGitFolder = { isBare: false, hasGit: true } as const;

/** The inner repositories of the git folders that existed before a command. */
export interface InnerBefore {
  readonly keys: ReadonlySet<string>;
  readonly hasProblem: boolean;
}

/** Finds all inner repositories of these git folders. */
export async function surveyInner(
  root: string,
  folders: readonly string[],
  search: RepositorySearch,
): Promise<FoundRepositories> {
  const all = await search.surveyInSlices(root, folders);
  const own = folders.filter((git) => entryOf(join(git, '.git')) !== undefined);
  const isOwn = ({ folder }: FoundRepository) => folders.includes(folder);
  const found = all.found.filter((one) => !isOwn(one));
  return { ...all, found: [...found, ...own.map((folder) => ({ ...ofGitFolder, folder }))] };
}

/** Returns the state before a command. */
export function innerBefore({ found, problem }: FoundRepositories): InnerBefore {
  return { keys: new Set(found.map(keyOf)), hasProblem: problem !== undefined };
}

/**
 * Returns the repositories that a command created in a git folder that existed before. The sandbox guards the places
 * in which git creates them, so all others are a risk. Other programs can create a worktree in a guarded place.
 */
export function newInnerRisks(
  { found }: FoundRepositories,
  { keys }: InnerBefore,
  guarded: readonly string[],
): readonly Risk[] {
  return found.flatMap((one) => {
    const { folder, isBare, hasGit } = one;
    if (keys.has(keyOf(one)) || guarded.some((path) => isInside(path, folder))) return [];
    const names = [...(isBare ? ['HEAD'] : []), ...(hasGit ? ['.git'] : [])];
    return [{ folder, names, why: 'it is in a folder of git' }];
  });
}

function keyOf({ folder, isBare, hasGit }: FoundRepository): string {
  return `${isBare} ${hasGit} ${folder}`;
}
