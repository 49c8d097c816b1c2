import { randomUUID } from 'node:crypto';
import { chmod, lstat, rename } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { type Folder, folderOpener } from '../workspace/folder.ts';
import { readGitSettings } from './read-git-settings.ts';
import { readRegularFile } from './read-regular-file.ts';
import {
  type FoundRepository,
  maxRepositories,
  type RepositorySearch,
} from './repository-search.ts';
import { hasHiddenWorktree, riskOfBare, riskOfGit } from './settings-risk.ts';
import { gitFolderOf, type ReadIndex } from './submodules.ts';

/** Watches a workspace for repositories that a command creates. */
export interface RepositoryWatch {
  /** Aborts when a new repository makes git run programs. */
  readonly blocked: AbortSignal;
  /**
   * Renames such repositories and stops watching. Returns sentences for the model about what was renamed.
   */
  finish(): Promise<readonly string[]>;
}

interface WatchOptions {
  /** The real path of the workspace. */
  readonly root: string;
  /** The repositories that existed before the command. Commands cannot change their settings. */
  readonly known: readonly FoundRepository[];
  readonly search: RepositorySearch;
  /** Time between two checks while the command runs. Default: 1 s. */
  readonly everyMs?: number | undefined;
}

/**
 * Checks take at most 1/20 of the time. There is a limit because a search of a large workspace takes
 * long.
 */
const maxShare = 20;

/**
 * Watches for new repositories whose settings or hooks run programs. A command can create one in any
 * folder and make it a submodule. Then `git status` in the workspace runs these programs outside of the
 * sandbox, and many shells and editors call `git status` automatically. A repository without such
 * settings stays. The sandbox cannot prevent that a command creates the name `.git`, so the check finds
 * it afterwards.
 */
export function watchRepositories(options: WatchOptions): RepositoryWatch {
  const { everyMs = 1000 } = options;
  const controller = new AbortController();
  const before = indexesOf(options);
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const checkLater = (ms: number) => {
    timer = setTimeout(async () => {
      const start = performance.now();
      // An error is ignored here, because the check at the end reports it.
      const { risks } = await findRisks(options, before).catch(() => nothing);
      if (risks.length > 0) controller.abort();
      else if (!isOver) checkLater(Math.max(everyMs, maxShare * (performance.now() - start)));
    }, ms).unref();
  };
  checkLater(everyMs);
  return {
    blocked: controller.signal,
    async finish() {
      isOver = true;
      clearTimeout(timer);
      const { risks, problem } = await findRisks(options, before).catch((error: unknown) => ({
        ...{ risks: [], problem: cannotCheck(error) },
      }));
      const notes: string[] = problem === undefined ? [] : [problem];
      for (const risk of risks) notes.push(await removeRisk(options.root, risk));
      return notes;
    },
  };
}

/** Entries of a folder that make git run programs. */
interface Risk {
  readonly folder: string;
  /** The names of the entries to rename. Without them, git runs no programs. */
  readonly names: readonly string[];
  readonly why: string;
}

interface FoundRisks {
  readonly risks: readonly Risk[];
  /** The reason why not everything could be checked, as a sentence for the model. */
  readonly problem?: string | undefined;
}

const nothing: FoundRisks = { risks: [] };

function cannotCheck(error: unknown): string {
  const why = error instanceof Error ? error.message : 'unknown error';
  return `The sandbox cannot check which repositories the command created. Tell the user before git is used. ${why}`;
}

async function findRisks(options: WatchOptions, before: Indexes): Promise<FoundRisks> {
  const { root, known, search } = options;
  const isKnown = (folder: string, kind: 'isBare' | 'hasGit') =>
    folder === root || known.some((one) => one.folder === folder && one[kind]);
  // Commands cannot change the worktrees and submodules of known repositories.
  const guarded = [
    root,
    ...known.filter(({ hasGit }) => hasGit).map(({ folder }) => folder),
  ].flatMap((folder) => ['modules', 'worktrees'].map((name) => join(folder, '.git', name)));
  const { found, problem } = search.survey(root);
  const risks: Risk[] = [...(await changedIndexes(options, before))];
  const about = { root, guarded, search };
  // There were fewer repositories before. One of the new ones could have a submodule that the search did
  // not reach.
  const isTooMany = found.length > maxRepositories ? 'there are too many' : undefined;
  for (const { folder, isBare, hasGit } of found) {
    if (hasGit && !isKnown(folder, 'hasGit')) {
      const why = isTooMany ?? (await riskOfGit(join(folder, '.git'), about));
      if (why !== undefined) risks.push({ folder, names: ['.git'], why });
    }
    if (isBare && !isKnown(folder, 'isBare')) {
      const why = await riskOfBare(folder, about);
      const names = ['config', 'hooks', 'commondir', 'index'];
      if (why !== undefined) risks.push({ folder, names, why });
    }
  }
  return { risks, problem: problem && cannotCheck(problem) };
}

/** The indexes before the command ran, by the folder of the repository. */
type Indexes = ReadonlyMap<string, ReadIndex>;

function indexesOf({ root, known, search }: WatchOptions): Indexes {
  const folders = [
    ...[root, ...known.filter(({ hasGit }) => hasGit).map(({ folder }) => folder)].map(gitFolderOf),
    ...known.filter(({ isBare }) => isBare).map(({ folder }) => folder),
  ];
  // Commands cannot change repositories outside of the workspace.
  const inside = folders.filter((git) => git?.startsWith(root + sep) === true);
  return new Map(inside.map((git = '') => [git, search.readIndex(git)]));
}

const maxConfigBytes = 1_048_576;

/**
 * Returns the indexes of known repositories that a command has changed in a way that cannot be checked.
 */
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
 * True if the settings ask for an index with folders as entries. No command can change these settings.
 */
async function isSparse(git: string): Promise<boolean> {
  for (const name of ['config', 'config.worktree']) {
    const text = await readRegularFile(join(git, name), maxConfigBytes);
    const settings = readGitSettings(text?.toString('utf8') ?? '');
    if (settings.some(({ section, key }) => section === 'index' && key === 'sparse')) return true;
  }
  return false;
}

/**
 * Enters a folder. A command can remove the right to list the folder, which git does not need. The right
 * is then restored.
 */
async function enter(at: Folder, name: string): Promise<Folder> {
  try {
    return await at.enter(name);
  } catch (error) {
    if (!(await permitOwner(at.pathOf(name)))) throw error;
    return at.enter(name);
  }
}

/** Gives the owner all rights to a folder. Returns false if the path is not a folder. */
async function permitOwner(folder: string): Promise<boolean> {
  const entry = await lstat(folder);
  if (!entry.isDirectory()) return false;
  await chmod(folder, (entry.mode & 0o777) | 0o700);
  return true;
}

/**
 * Renames an entry and returns the new name. Undefined if the entry does not exist. A command can make
 * the folder read-only, so the rights are restored first if the rename fails.
 */
async function renameIn(at: Folder, name: string): Promise<string | undefined> {
  const away = `${name}.blocked-by-sandbox-${randomUUID()}`;
  const attempt = () => rename(at.pathOf(name), at.pathOf(away));
  const failure = await attempt().then(
    () => undefined,
    ({ code = '' }: NodeJS.ErrnoException) => code,
  );
  if (failure === 'ENOENT') return undefined;
  if (failure !== undefined) {
    await permitOwner(at.pathOf('.'));
    await attempt();
  }
  return away;
}

/**
 * Renames the entries and returns a sentence for the model. It opens the folder without following links.
 * Another command may still run, and could replace a folder with a link out of the workspace.
 */
async function removeRisk(root: string, { folder, names, why }: Risk): Promise<string> {
  const shown = relative(root, folder);
  const renamed: string[] = [];
  const opened: Folder[] = [];
  try {
    let at = await folderOpener(root)();
    opened.push(at);
    for (const name of shown.split(sep)) {
      at = await enter(at, name);
      opened.push(at);
    }
    for (const name of names) {
      const away = await renameIn(at, name);
      if (away !== undefined) renamed.push(`${name} to ${away}`);
    }
    return `The sandbox renamed ${renamed.join(' and ')} in ${shown}, because git would run programs of a repository that the command created: ${why}. Tell the user`;
  } catch {
    return `The command created a repository in ${shown} that makes git run programs: ${why}. The sandbox could not rename it. Tell the user to remove it before git is used`;
  } finally {
    for (const one of opened) await one.close();
  }
}
