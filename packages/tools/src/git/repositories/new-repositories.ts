import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { readGitSettings } from '../read-git-settings.ts';
import { readRegularFile } from '../read-regular-file.ts';
import type { PackageCheck, PackageRepositories } from './package-repositories.ts';
import { packagesName } from './read-folder.ts';
import { makeReadable, type Risk, removeRisk } from './remove-risk.ts';
import {
  type FoundRepositories,
  type FoundRepository,
  maxRepositories,
  type RepositorySearch,
} from './repository-search.ts';
import {
  begunNames,
  hasHiddenWorktree,
  riskOfBare,
  riskOfBegun,
  riskOfGit,
} from './settings-risk.ts';
import { gitFolderOf, type ReadIndex } from './submodules.ts';

/** Watches a workspace for repositories that a command creates. */
export interface RepositoryWatch {
  /** This signal aborts when a new repository would make git run programs. */
  readonly blocked: AbortSignal;
  /**
   * Renames risky repositories and stops watching. Returns sentences for the model that describe the renamed
   * files.
   */
  finish(): Promise<readonly string[]>;
}

interface WatchOptions {
  /** The real path of the workspace. */
  readonly root: string;
  /** True if the command has access to the network. */
  readonly network: boolean;
  /** The repositories that existed before the command. Commands cannot change their settings. */
  readonly known: readonly FoundRepository[];
  readonly search: RepositorySearch;
  /** Searches the `node_modules` folders. */
  readonly packages: PackageRepositories;
  /** Time between two checks while the command runs. Default: 1 s. */
  readonly everyMs?: number | undefined;
}

/** Checks use at most 1/20 of the time, because a search of a large workspace takes long. */
const maxShare = 20;

/**
 * Watches for new repositories whose settings or hooks run programs. A command can create one in any folder
 * and make it a submodule. Then `git status` in the workspace runs these programs outside of the sandbox, and
 * many shells and editors call `git status` automatically. A repository without such settings is not changed.
 * The sandbox cannot prevent a command from creating `.git`, so this check finds it afterwards.
 *
 * The `node_modules` folders are checked last. `finish` waits for this check only 1/20 of the command's
 * duration. See `PackageRepositories`.
 */
export function watchRepositories(options: WatchOptions): RepositoryWatch {
  const { root, search, packages, everyMs = 1000 } = options;
  const controller = new AbortController();
  const before = indexesOf(options);
  const begun = new Set([...before.keys()].flatMap(begunIn));
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const findAny = async () => {
    const all = search.survey(root);
    const risks = [...(await changedIndexes(options, before)), ...(await risksOf(all, options))];
    if (risks.length > 0 || isOver) return risks;
    return risksOf(await packages.survey(root, all.packages), options);
  };
  const checkLater = (ms: number) => {
    timer = setTimeout(async () => {
      const start = performance.now();
      // The error is ignored here, because the final check reports it.
      const risks = await findAny().catch(() => []);
      if (risks.length > 0) controller.abort();
      else if (!isOver) checkLater(Math.max(everyMs, maxShare * (performance.now() - start)));
    }, ms).unref();
  };
  checkLater(everyMs);
  const removeAll = async (risks: readonly Risk[]) => {
    const notes: string[] = [];
    for (const risk of risks) notes.push(await removeRisk(root, risk));
    return notes;
  };
  /** The `node_modules` folders that exist after the command. */
  let folders: readonly string[] = [];
  const checkPackages = async (
    survey: (packages: readonly string[]) => Promise<FoundRepositories>,
  ): Promise<PackageCheck> => {
    // Known repositories stay known, even if the search cannot reach them now.
    const known = options.known.filter(({ folder }) => isInPackages(root, folder));
    try {
      const all = await surveyAll(root, () => survey(folders));
      const risks = await risksOf(all, options);
      const others = new Set([...risks, ...known].map(({ folder }) => folder));
      const found = [...known, ...all.found.filter(({ folder }) => !others.has(folder))];
      const notes = [...problemOf(all), ...(await removeAll(risks))];
      return { found, problem: all.problem, notes };
    } catch (error) {
      return { found: known, notes: [cannotCheck(error)] };
    }
  };
  return {
    blocked: controller.signal,
    async finish() {
      isOver = true;
      clearTimeout(timer);
      const waitMs = (performance.now() - startedAt) / maxShare;
      const notes: string[] = [];
      try {
        const changed = [
          ...(await changedIndexes(options, before)),
          ...(await risksOfBegun(before, begun)),
        ];
        const all = await surveyAll(root, async () => search.survey(root));
        folders = all.packages;
        notes.push(...problemOf(all));
        notes.push(...(await removeAll([...changed, ...(await risksOf(all, options))])));
      } catch (error) {
        notes.push(cannotCheck(error));
      }
      return [...notes, ...(await packages.checkAfter(root, waitMs, checkPackages))];
    },
  };
}

function isInPackages(root: string, folder: string): boolean {
  return relative(root, folder).split(sep).includes(packagesName);
}

function problemOf({ problem }: FoundRepositories): readonly string[] {
  return problem === undefined ? [] : [cannotCheck(problem)];
}

function cannotCheck(error: unknown): string {
  const why = error instanceof Error ? error.message : 'unknown error';
  return `The sandbox cannot check which repositories the command created. Tell the user before git is used. ${why}`;
}

/**
 * Maximum number of attempts to make nested folders readable. An unreadable folder can hide more unreadable
 * folders.
 */
const maxLevels = 50;

/**
 * Searches the workspace after a command. If the command made folders unreadable, it makes them readable
 * again.
 */
async function surveyAll(
  root: string,
  survey: () => Promise<FoundRepositories>,
): Promise<FoundRepositories> {
  let all = await survey();
  for (let level = 0; level < maxLevels && all.unlisted.length > 0; level++) {
    const { unlisted } = all;
    for (const folder of unlisted) await makeReadable(root, folder);
    all = await survey();
    if (all.unlisted[0] === unlisted[0]) break;
  }
  return all;
}

/** Returns the new repositories that make git run programs. */
async function risksOf(
  { found }: FoundRepositories,
  { root, network, known, search }: WatchOptions,
): Promise<readonly Risk[]> {
  const isKnown = (folder: string, kind: 'isBare' | 'hasGit') =>
    folder === root || known.some((one) => one.folder === folder && one[kind]);
  // Commands cannot change the worktrees and submodules of repositories that existed before.
  const guarded = [
    root,
    ...known.filter(({ hasGit }) => hasGit).map(({ folder }) => folder),
  ].flatMap((folder) => ['modules', 'worktrees'].map((name) => join(folder, '.git', name)));
  const risks: Risk[] = [];
  const about = { root, network, guarded, search };
  // Before the command, there were fewer repositories. A new repository could have a submodule that the
  // search did not reach.
  const isTooMany = found.length > maxRepositories ? 'there are too many' : undefined;
  for (const { folder, isBare, hasGit } of found) {
    if (hasGit && !isKnown(folder, 'hasGit')) {
      const why = isTooMany ?? (await riskOfGit(join(folder, '.git'), about));
      if (why !== undefined) risks.push({ folder, names: ['.git'], why });
    }
    if (isBare && !isKnown(folder, 'isBare')) {
      const why = await riskOfBare(folder, about);
      const names = ['config', 'hooks', 'commondir', 'index', ...begunNames];
      if (why !== undefined) risks.push({ folder, names, why });
    }
  }
  return risks;
}

/** The indexes before the command, by git folder. */
type Indexes = ReadonlyMap<string, ReadIndex>;

function indexesOf({ root, known, search }: WatchOptions): Indexes {
  const folders = [
    ...[root, ...known.filter(({ hasGit }) => hasGit).map(({ folder }) => folder)].map(gitFolderOf),
    ...known.filter(({ isBare }) => isBare).map(({ folder }) => folder),
  ];
  // Commands cannot change repositories outside the workspace.
  const inside = folders.filter((git) => git?.startsWith(root + sep) === true);
  return new Map(inside.map((git = '') => [git, search.readIndex(git)]));
}

const maxConfigBytes = 1_048_576;

/** Returns the known repositories whose index a command has changed in a way that cannot be checked. */
async function changedIndexes(
  { root, search }: WatchOptions,
  before: Indexes,
): Promise<readonly Risk[]> {
  const risks: Risk[] = [];
  for (const [folder, earlier] of before) {
    const { stamp, submodules } = search.readIndex(folder);
    if (stamp === earlier.stamp) continue;
    const known = new Set(earlier.submodules);
    const worktree = basename(folder) === '.git' ? dirname(folder) : undefined;
    const isRisk =
      submodules === undefined
        ? !(await isSparse(folder))
        : submodules.some((one) => !known.has(one)) &&
          (await hasHiddenWorktree(folder, root, worktree));
    if (isRisk) risks.push({ folder, names: ['index'], why: 'its index cannot be checked' });
  }
  return risks;
}

/**
 * Returns the folders of unfinished rebases and patches in a repository. A command cannot change these
 * folders. It can change the folder `sequencer`, so that folder is not included.
 */
function begunIn(git: string): readonly string[] {
  const guarded = begunNames.filter((name) => name !== 'sequencer');
  return guarded.map((name) => join(git, name)).filter((folder) => existsSync(folder));
}

/**
 * Returns the unfinished rebases and similar operations of a command that would be dangerous for the user to
 * continue. The command's own rebase runs in the sandbox, but the user's `--continue` does not.
 */
async function risksOfBegun(before: Indexes, begun: ReadonlySet<string>): Promise<readonly Risk[]> {
  const risks: Risk[] = [];
  for (const folder of before.keys())
    for (const name of begunNames) {
      const isKnown = begun.has(join(folder, name));
      const why = isKnown ? undefined : await riskOfBegun(folder, name);
      if (why !== undefined) risks.push({ folder, names: [name], why });
    }
  return risks;
}

/** True if the settings enable an index that can contain folders. No command can change these settings. */
async function isSparse(git: string): Promise<boolean> {
  for (const name of ['config', 'config.worktree']) {
    const text = await readRegularFile(join(git, name), maxConfigBytes);
    const settings = readGitSettings(text?.toString('utf8') ?? '');
    if (settings.some(({ section, key }) => section === 'index' && key === 'sparse')) return true;
  }
  return false;
}
