import { basename, dirname, join, relative, sep } from 'node:path';
import { isBelow, isInside } from '../../workspace/match-path.ts';
import { entryOf } from '../../workspace/real-form.ts';
import { type EarlierKeys, earlierKey } from './earlier-keys.ts';
import { readFolder } from './read-folder.ts';
import type { Risk } from './removal/remove-risk.ts';
import {
  type FoundFile,
  type FoundOdd,
  type FoundRepositories,
  type FoundRepository,
  RepositorySearch,
} from './repository-search.ts';

/** An inner repository of a git folder. */
interface InnerRepository extends FoundRepository {
  /** The folder of the repository that contains it. */
  readonly owner: string;
  /** True if it has the place in which git creates the repository of a submodule or of a linked worktree. */
  readonly isUsual: boolean;
}

/** Maximum number of folders in the git folder of a new repository. */
const maxFolders = 20_000;

/** Maximum number of folders in all git folders of a workspace. Git LFS creates up to 65,792 folders. */
const maxGitFolders = 200_000;

/** Returns a search for git folders. */
export function gitFolderSearch(maxFolders: number = maxGitFolders): RepositorySearch {
  return new RepositorySearch({ maxFolders, searchesPackages: true, readsFiles: true });
}

/** The content of the git folder of a new repository. */
interface GitFolderContent {
  readonly inner: readonly InnerRepository[];
  /** A link or another entry that git never writes. Git would write through it to another file. */
  readonly unusual: string | undefined;
}

/**
 * Returns the repositories inside a git folder, also in its objects. Throws a `SandboxError` if they cannot be found.
 * A program such as the prompt of a shell runs git in these folders too.
 */
export async function readGitContent(git: string): Promise<GitFolderContent> {
  const search = gitFolderSearch(maxFolders);
  const { found, files, problem } = await search.surveyInSlices(git, [git]);
  if (problem !== undefined) throw problem;
  const unusual = files.find(({ isUnusual }) => isUnusual);
  const folders = new Set([git, ...found.map(({ folder }) => folder)]);
  const own = entryOf(join(git, '.git')) === undefined ? [] : [{ ...ofGitFolder, folder: git }];
  const inner = [...own, ...found].map((one) => {
    let owner = dirname(one.folder);
    while (owner !== git && isBelow(git, owner) && !folders.has(owner)) owner = dirname(owner);
    const [kind, ...names] = relative(owner, one.folder).split(sep);
    const isInPlace =
      (kind === 'modules' && names.length > 0) || (kind === 'worktrees' && names.length === 1);
    return { ...one, owner, isUsual: isInPlace && !one.hasGit };
  });
  return { inner, unusual: unusual && relative(git, join(unusual.folder, unusual.name)) };
}

const ofGitFolder = { isBare: false, hasGit: true } as const;

/** Finds all inner repositories and files of these git folders, and of their common folders. */
export async function surveyInner(
  root: string,
  folders: readonly string[],
  search: RepositorySearch,
): Promise<FoundRepositories> {
  const isBareRoot = readFolder(root, undefined, 0)?.isBare === true;
  // A worktree can be in a bare repository, so only these folders of a bare repository count.
  const ofRoot = isBareRoot ? ['logs', 'refs'].map((name) => join(root, name)) : [];
  const all = await search.surveyInSlices(root, [...folders, ...ofRoot]);
  const own = folders.filter((git) => entryOf(join(git, '.git')) !== undefined);
  const isOwn = ({ folder }: FoundRepository) => folders.includes(folder);
  const found = all.found.filter((one) => !isOwn(one));
  const inRoot = isBareRoot
    ? (readFolder(root, undefined, 0, { readsFiles: true })?.files ?? [])
    : [];
  return {
    ...all,
    found: [...found, ...own.map((folder) => ({ ...ofGitFolder, folder }))],
    files: [...all.files, ...inRoot.map((file) => ({ folder: root, ...file }))],
  };
}

/** Returns the keys of everything that a search in git folders found. */
export function innerKeys({ found, files, odd }: FoundRepositories): readonly string[] {
  return [...found.map(keyOf), ...files.map(fileKey), ...odd.map(oddKey)];
}

/** Maximum number of unusual entries to rename. If a command creates more, their git folder is renamed. */
const maxUnusual = 1000;

/**
 * Returns the repositories, links and other unusual entries that a command created in a git folder that existed
 * before. The sandbox guards the places in which git creates repositories, so all others are a risk. Other programs
 * can create a worktree in a guarded place. Git creates no links: it would write through them to other files, outside
 * of the sandbox.
 */
export function newInnerRisks(
  { found, files, odd }: FoundRepositories,
  seen: EarlierKeys,
  guarded: readonly string[],
  gitFolders: readonly string[],
): readonly Risk[] {
  const isGuarded = (path: string) => guarded.some((one) => isInside(one, path));
  const effect = 'git would write through it to another file';
  const repositories = found.flatMap((one) => {
    const { folder, isBare, hasGit } = one;
    if (seen.has(keyOf(one)) || isGuarded(folder)) return [];
    const names = [...(isBare ? ['HEAD'] : []), ...(hasGit ? ['.git'] : [])];
    return [{ folder, names, why: 'it is in a folder of git' }];
  });
  const oddRisks = odd.flatMap((one) => {
    if (seen.has(oddKey(one)) || isGuarded(one.folder)) return [];
    const { folder, name } = one;
    return [{ folder, names: [], odd: name, isHidden: true, effect, why: 'its name is no text' }];
  });
  const unusual = files.filter(
    (one) => one.isUnusual && !seen.has(fileKey(one)) && !isGuarded(join(one.folder, one.name)),
  );
  const why = 'it is a link, or another entry that git does not create';
  if (unusual.length <= maxUnusual)
    return [
      ...repositories,
      ...oddRisks,
      ...unusual.map(({ folder, name }) => ({
        folder,
        names: [name],
        isHidden: true,
        effect,
        why,
      })),
    ];
  const full = gitFolders.filter((git) => unusual.some(({ folder }) => isInside(git, folder)));
  return full.map((git) => {
    const many = `it has more than ${maxUnusual} links`;
    return { folder: dirname(git), names: [basename(git)], effect, why: many };
  });
}

/**
 * Returns a search that finds the repositories in the git folders of new repositories, at all levels. A command can
 * create a repository in the `.git` of another one, and so on.
 */
export function nestedSearch(): RepositorySearch {
  return new RepositorySearch({ searchesPackages: true, searchesGit: true });
}

/** Returns the git folders that would be renamed for these risks. It omits links and files. */
export function gitFoldersOf(risks: readonly Risk[]): readonly string[] {
  return risks
    .filter(({ names }) => names.includes('.git'))
    .map(({ folder }) => join(folder, '.git'))
    .filter((git) => entryOf(git)?.isDirectory());
}

/**
 * Adds the repositories that a `nestedSearch` has found in the git folders of these risks. A renamed `.git` is a bare
 * repository, so its `HEAD` is renamed too. The innermost repositories come first: their paths do not change before
 * they are renamed.
 */
export function atAllLevels(
  risks: readonly Risk[],
  { found, odd }: Pick<FoundRepositories, 'found' | 'odd'>,
): readonly Risk[] {
  const bare = new Set(found.filter(({ isBare }) => isBare).map(({ folder }) => folder));
  const withHead = (folder: string) =>
    bare.has(join(folder, '.git')) ? ['.git/HEAD', '.git'] : ['.git'];
  const why = 'it is in the git folder of a new repository';
  const isCreated = true;
  const inner = found.flatMap(({ folder, isBare, hasGit }) => [
    ...(isBare && basename(folder) !== '.git' ? [{ folder, names: ['HEAD'], why, isCreated }] : []),
    ...(hasGit ? [{ folder, names: withHead(folder), why, isCreated }] : []),
  ]);
  const outer = risks.map((risk) => ({
    ...risk,
    names: risk.names.flatMap((name) => (name === '.git' ? withHead(risk.folder) : [name])),
  }));
  const unnamed = odd.map(({ folder, name }) => ({ folder, names: [], odd: name, why }));
  return [...outer, ...inner, ...unnamed].toSorted((a, b) => b.folder.length - a.folder.length);
}

function oddKey({ folder, name }: FoundOdd): string {
  return earlierKey('odd', folder, name.toString('hex'));
}

function fileKey({ folder, name, id }: FoundFile): string {
  return earlierKey('file', join(folder, name), id);
}

function keyOf({ folder, isBare, hasGit }: FoundRepository): string {
  return earlierKey('inner', `${isBare} ${hasGit}`, folder);
}
