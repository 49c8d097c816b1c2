import { chmodSync, closeSync, constants, fchmodSync, fstatSync, openSync } from 'node:fs';
import { lstat, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { type Folder, folderOpener, pathOnly } from '../../../workspace/folder.ts';
import { keptNames } from '../../../workspace/kept-names.ts';
import type { FoundRepositories, RepositorySearch } from '../repository-search.ts';
import { renameOdd } from './rename-odd.ts';

/** The entries of a folder that make git run programs. */
export interface Risk {
  readonly folder: string;
  /**
   * The entries to rename, as paths relative to the folder. After that, git runs no programs of this folder. Entries
   * in an inner folder come before that folder.
   */
  readonly names: readonly string[];
  /** An entry to rename whose name is not valid UTF-8. Default: none. */
  readonly odd?: Buffer | undefined;
  readonly why: string;
  /** The harm that git would do. Default: git would run programs of the repository. */
  readonly effect?: string | undefined;
  /** True if the new name starts with a dot. Then git cannot use it as the name of a branch. Default: false. */
  readonly isHidden?: boolean | undefined;
  /** True if the command created the repository. If the rename fails, `disableIn` removes its `HEAD`. Default: false. */
  readonly isCreated?: boolean | undefined;
}

/**
 * Enters a folder. A command may have removed the permission to list the folder. Git does not need this
 * permission, but this function does, so it restores the permission.
 */
async function enter(at: Folder, name: string): Promise<Folder> {
  try {
    return await at.enter(name);
  } catch (error) {
    if (!permitOwner(at.pathOf(name))) throw error;
    return at.enter(name);
  }
}

/** Maximum length of a name in Linux, in bytes. */
const maxNameBytes = 255;

/**
 * Renames an entry and returns the new name. Returns undefined if the entry does not exist. A command may
 * have made the folder read-only. If the rename fails, the permissions are restored, and the rename is
 * repeated.
 */
async function renameIn(at: Folder, name: string, prefix = ''): Promise<string | undefined> {
  const [whole, cut] = keptNames(prefix + name);
  const away = Buffer.byteLength(whole) > maxNameBytes ? cut : whole;
  const attempt = () => rename(at.pathOf(name), at.pathOf(away));
  const failure = await attempt().then(
    () => undefined,
    ({ code = '' }: NodeJS.ErrnoException) => code,
  );
  if (failure === 'ENOENT') return undefined;
  if (failure !== undefined) {
    permitOwner(at.pathOf('.'));
    await attempt();
  }
  return away;
}

/**
 * Removes the file `HEAD` of a repository, or a `.git` that is a file or a link, so that git does not use the
 * repository. A rename can need space for the new name, and fails on a full disk. This needs no space. Returns the path
 * of the removed file. Returns undefined if there is none.
 */
async function disableIn(at: Folder, name: string): Promise<string | undefined> {
  const isFolder = (await lstat(at.pathOf(name))).isDirectory();
  const git = isFolder ? await enter(at, name) : at;
  try {
    await unlink(git.pathOf(isFolder ? 'HEAD' : name));
    return isFolder ? join(name, 'HEAD') : name;
  } catch {
    return undefined;
  } finally {
    if (isFolder) await git.close();
  }
}

async function renameOddIn(at: Folder, name: Buffer, prefix: string): Promise<string> {
  try {
    return renameOdd(at.pathOf('.'), name, prefix);
  } catch {
    // A command may have made the folder read-only.
    permitOwner(at.pathOf('.'));
    return renameOdd(at.pathOf('.'), name, prefix);
  }
}

/**
 * Opens a folder without following links, and passes it to `use`. A running command could otherwise replace a
 * folder by a link to a folder outside the workspace.
 */
async function within<Result>(
  root: string,
  folder: string,
  use: (at: Folder) => Promise<Result>,
): Promise<Result> {
  const opened: Folder[] = [];
  try {
    let at = await folderOpener(root)();
    opened.push(at);
    // The workspace itself can be a bare repository. In this case the list of names is empty.
    for (const name of relative(root, folder)
      .split(sep)
      .filter((one) => one !== '')) {
      at = await enter(at, name);
      opened.push(at);
    }
    return await use(at);
  } finally {
    for (const one of opened) await one.close();
  }
}

/**
 * Tries to give the owner all permissions for a folder that a command made unreadable. The folder was
 * readable before the command, because the command would otherwise not have started.
 */
async function makeReadable(root: string, folder: string): Promise<void> {
  await within(root, folder, async () => {}).catch(() => {});
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
export async function surveyAll(
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

/**
 * Like `surveyAll`, but synchronous, for a process that ends. All commands have been killed, so no path changes
 * between a check and its use.
 */
export function surveyAllNow(
  root: string,
  search: RepositorySearch,
  folders: readonly string[] = [root],
): FoundRepositories {
  let all = search.survey(root, folders);
  for (let level = 0; level < maxLevels && all.unlisted.length > 0; level++) {
    const { unlisted } = all;
    for (const folder of unlisted) permitOwner(folder);
    all = search.survey(root, folders);
    if (all.unlisted[0] === unlisted[0]) break;
  }
  return all;
}

const { O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * Gives the owner all permissions for a folder. Returns false if the path is not a folder, or if that is not possible.
 * It changes the folder that it has opened, because a running command could replace the path by a link.
 */
export function permitOwner(path: string): boolean {
  let folder: number | undefined;
  try {
    folder = openSync(path, pathOnly | O_NOFOLLOW | O_DIRECTORY);
    const mode = (fstatSync(folder).mode & 0o777) | 0o700;
    if (pathOnly === 0) fchmodSync(folder, mode);
    else chmodSync(`/proc/self/fd/${folder}`, mode);
    return true;
  } catch {
    return false;
  } finally {
    if (folder !== undefined) closeSync(folder);
  }
}

/** Sentences for the model about renamed entries, and about entries that could not be renamed. */
export interface Removed {
  readonly renamed: string[];
  readonly failed: string[];
}

/** Maximum number of sentences of each kind in the result of a command, which can create thousands of repositories. */
const maxSentences = 10;

/** Returns the sentences for the model. If there are many, it returns some of them, and the number of the others. */
export function describeRemoved({ renamed, failed }: Removed): readonly string[] {
  const first = (all: readonly string[], what: string) => {
    const left = all.length - maxSentences;
    return [...all.slice(0, maxSentences), ...(left > 0 ? [`${left} more ${what}`] : [])];
  };
  return [
    ...first(failed, 'repositories run programs and could not be renamed. Tell the user'),
    ...first(renamed, 'repositories were renamed to .blocked-by-sandbox-. Tell the user'),
  ];
}

/** Returns the sentence about a search that was not complete. */
export function problemOf({ problem }: FoundRepositories): readonly string[] {
  return problem === undefined ? [] : [cannotCheck(problem)];
}

/** Returns the sentence about a check that failed. */
export function cannotCheck(error: unknown): string {
  const why = error instanceof Error ? error.message : 'unknown error';
  return `The sandbox cannot check which repositories the command created. Tell the user before git is used. ${why}`;
}

const runsPrograms = 'git would run programs of a repository that the command created';

/**
 * Renames the risky entries, and adds a sentence about the result. If one entry cannot be renamed, it still renames the
 * others.
 */
export async function removeRisk(
  root: string,
  { folder, names, odd, why, effect = runsPrograms, isHidden = false, isCreated = false }: Risk,
  removed: Removed,
): Promise<void> {
  const shown = relative(root, folder) || 'the workspace';
  const prefix = isHidden ? '.' : '';
  const renamed: string[] = [];
  const failed: string[] = [];
  const disabled: string[] = [];
  const attempt = async (
    name: string,
    inside: string,
    rename: (at: Folder) => Promise<string | undefined>,
  ) => {
    try {
      const away = await within(root, join(folder, inside), rename);
      if (away !== undefined) renamed.push(`${name} to ${away}`);
    } catch {
      failed.push(name);
      if (!isCreated || !['.git', 'HEAD'].includes(basename(name))) return;
      const disable = (at: Folder) => disableIn(at, basename(name));
      const what = await within(root, join(folder, inside), disable).catch(() => undefined);
      if (what !== undefined) disabled.push(join(inside, what));
    }
  };
  for (const name of names)
    await attempt(name, dirname(name), (at) => renameIn(at, basename(name), prefix));
  if (odd !== undefined) await attempt(odd.toString(), '.', (at) => renameOddIn(at, odd, prefix));
  if (renamed.length > 0)
    removed.renamed.push(
      `The sandbox renamed ${renamed.join(' and ')} in ${shown}, because ${effect}: ${why}. Tell the user`,
    );
  const instead = disabled.length === 0 ? '' : `. It has removed ${disabled.join(' and ')} instead`;
  if (failed.length > 0)
    removed.failed.push(
      `The command created ${failed.join(' and ')} in ${shown}, and ${effect}: ${why}. The sandbox could not rename it${instead}. ${mustRemove}`,
    );
}

/** The end of a sentence about an entry that could not be renamed. */
export const mustRemove =
  'Tell the user to remove or rename it before git is used, and to make space if the disk is full. Until then, no command starts in this folder';
