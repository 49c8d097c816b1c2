import { isUtf8 } from 'node:buffer';
import { accessSync, constants, type Dirent, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { errorCodeOf } from '../../contract/workspace-error.ts';
import { foldName } from '../../workspace/globs/folded-names.ts';

/**
 * A folder with entries of these three names counts as a bare repository, even if the entries are empty.
 * Otherwise a command could empty one of these files to remove the protection of the repository.
 */
export const bareNames = ['HEAD', 'objects', 'refs'] as const;

const knownNames: ReadonlyMap<string, string> = new Map(
  ['.git', 'commondir', ...bareNames].map((name) => [foldName(name), name]),
);

/**
 * Returns the usual spelling of a name that git uses. It returns all other names unchanged.
 */
function usualName(name: string): string {
  return knownNames.get(foldName(name)) ?? name;
}

/**
 * True if the names show that the folder is a bare repository. A file `commondir` contains the path of a
 * folder. Git then reads the objects and the settings from that folder.
 */
function looksBare(names: ReadonlySet<string>): boolean {
  return (
    bareNames.every((name) => names.has(name)) || (names.has('HEAD') && names.has('commondir'))
  );
}

/** Returns which kinds of repositories a folder with these names is. Git compares some names in any letter case. */
export function repositoryKinds(names: readonly string[]): {
  readonly isBare: boolean;
  readonly hasGit: boolean;
} {
  const usual = new Set(names.map(usualName));
  return { isBare: looksBare(usual), hasGit: usual.has('.git') };
}

/**
 * True if a new file makes one of its folders a repository, because the other parts of the repository exist. The
 * path is relative to `root`. A file in a `.git` also counts.
 */
export function completesRepository(root: string, path: string): boolean {
  return (
    path.split('/').some((name) => usualName(name) === '.git') ||
    completesBare(root, path) !== undefined
  );
}

/**
 * Returns the name of the folder that a new file makes a bare repository, because the other parts of the
 * repository exist. The path is relative to `root`.
 */
export function completesBare(root: string, path: string): string | undefined {
  const names = path.split('/');
  for (const [depth, name] of names.entries()) {
    if (!isPartOfRepository(name)) continue;
    const folder = join(root, ...names.slice(0, depth));
    const there = new Set(namesIn(folder).map(usualName));
    if (!looksBare(there) && looksBare(there.add(usualName(name)))) return basename(folder);
  }
  return undefined;
}

/** True if git uses an entry with this name to recognize a repository. */
export function isPartOfRepository(name: string): boolean {
  return knownNames.has(foldName(name));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT' || errorCodeOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}

/** The name of the folders that contain installed packages. These folders are large. */
export const packagesName = 'node_modules';

/** The data about one folder that a search needs. */
export interface ReadFolder {
  readonly inode: bigint;
  readonly changedNs: bigint;
  /** True if every later change of the folder changes its ctime. */
  readonly isSettled: boolean;
  readonly isBare: boolean;
  readonly hasGit: boolean;
  /** The names of the inner folders, without `.git` and `node_modules`. */
  readonly inner: readonly string[];
  /** The names of the folders that git uses as `.git`. Usually, this is `.git` or nothing. */
  readonly gitFolders: readonly string[];
  /** True if the folder contains a `node_modules` folder. */
  readonly hasPackages: boolean;
  /** The inner folders whose names are not valid UTF-8. If files are read, also unusual files. */
  readonly oddNames: readonly OddEntry[];
  /** The files and links. Undefined if nobody asked for them. */
  readonly files?: readonly ReadFile[] | undefined;
}

/** An entry whose name is not valid UTF-8. A string cannot represent its path. */
interface OddEntry {
  readonly name: Buffer;
  readonly isFolder: boolean;
}

/** An entry of a folder that is not a folder. */
export interface ReadFile {
  readonly name: string;
  /** A text that no other file at this path has. */
  readonly id: string;
  /** True if git never writes such an entry: a link, a file with several names, a socket, a pipe or a device. */
  readonly isUnusual: boolean;
}

/**
 * Reads a folder, or returns the known data if the folder has not changed. It compares the ctime, because no
 * command can set the ctime. Returns undefined if the folder no longer exists, or if it belongs to a
 * different user who denies access.
 */
export function readFolder(
  path: string,
  known: ReadFolder | undefined,
  settledAfterMs: number,
  { foldsNames, readsFiles = false }: ReadOptions = {},
): ReadFolder | undefined {
  try {
    const now = Date.now();
    const { ino: inode, ctimeNs: changedNs } = lstatSync(path, { bigint: true });
    if (known?.isSettled && known.inode === inode && known.changedNs === changedNs) return known;
    const entries = readdirSync(path, { withFileTypes: true });
    const nameOf = (name: string) => {
      const usual = usualName(name);
      const isUsual = usual === name || (foldsNames ?? isThere(join(path, usual)));
      return isUsual ? usual : name;
    };
    const names = new Set(entries.map(({ name }) => nameOf(name)));
    const folders = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
    const isGit = (name: string) => nameOf(name) === '.git';
    const inner = folders.filter((name) => !isGit(name) && name !== packagesName);
    return {
      inode,
      changedNs,
      isSettled: BigInt(now - settledAfterMs) * 1_000_000n > changedNs,
      isBare: looksBare(names),
      hasGit: names.has('.git'),
      inner,
      gitFolders: names.has('.git') ? folders.filter(isGit) : [],
      hasPackages: folders.includes(packagesName),
      oddNames: entries.some(({ name }) => name.includes('\uFFFD'))
        ? oddNamesIn(path, readsFiles)
        : [],
      files: readsFiles ? filesOf(path, entries) : undefined,
    };
  } catch (error) {
    if (isOutOfReach(path, error)) return undefined;
    throw unreadableFolder(path, error);
  }
}

/** Options of `readFolder`. */
interface ReadOptions {
  /**
   * True if the file system ignores letter case. Then git also uses `.GIT`. Default: the function checks whether the
   * usual spelling of such a name exists.
   */
  readonly foldsNames?: boolean | undefined;
  /** True to read the data of the files too. Default: false. */
  readonly readsFiles?: boolean | undefined;
}

/** The folders in which `git clone --local` and git LFS create files with several names. */
const objectFolder =
  /\/objects(?:\/(?:pack|info(?:\/commit-graphs)?|[0-9a-f]{2}(?:\/[0-9a-f]{2})?))?$/;

function filesOf(path: string, entries: readonly Dirent[]): readonly ReadFile[] {
  const isObjects = objectFolder.test(path);
  return entries.flatMap((entry) => {
    const { name } = entry;
    if (entry.isDirectory() || (isObjects && entry.isFile()) || isForeign(path, entry)) return [];
    const found = lstatSync(join(path, name), { bigint: true, throwIfNoEntry: false });
    if (found === undefined || found.isDirectory()) return [];
    const { ino, nlink, ctimeNs } = found;
    if (found.isFile()) return [{ name, id: `${ino}`, isUnusual: nlink > 1n }];
    return [{ name, id: `${ino} ${ctimeNs}`, isUnusual: true }];
  });
}

/**
 * True for the entries of other programs that git does not use: the locks of Emacs, the socket of git's own file
 * monitor, and the link with which `git init` tests the file system.
 */
function isForeign(path: string, entry: Dirent): boolean {
  const { name } = entry;
  if (entry.isSocket()) return name === 'fsmonitor--daemon.ipc';
  if (!entry.isSymbolicLink()) return false;
  return (
    name.startsWith('.#') || (/^t\w{6}$/.test(name) && targetOf(join(path, name)) === 'testing')
  );
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}

/** Returns the data for a folder that cannot be listed. Git may still be able to enter it. */
export function unlistedFolder(path: string): ReadFolder {
  const names = new Set(
    ['.git', 'commondir', ...bareNames].filter((name) => isThere(join(path, name))),
  );
  return {
    ...{ inode: 0n, changedNs: 0n, isSettled: false, inner: [], gitFolders: [] },
    ...{ hasPackages: isThere(join(path, packagesName)), isBare: looksBare(names), oddNames: [] },
    hasGit: names.has('.git'),
  };
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

function oddNamesIn(path: string, readsFiles: boolean): readonly OddEntry[] {
  return readdirSync(path, { withFileTypes: true, encoding: 'buffer' })
    .filter(({ name }) => !isUtf8(name))
    .filter((entry) => entry.isDirectory() || (readsFiles && isUnusual(path, entry)))
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
}

function isUnusual(path: string, entry: Dirent<Buffer>): boolean {
  return !entry.isFile() || lstatSync(bytePath(path, entry.name)).nlink > 1;
}

/** Returns the path of an entry in bytes. */
export function bytePath(folder: string | Buffer, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(folder), Buffer.from(sep), name]);
}

/** Maximum number of characters of a path that the system does not accept, in a message. */
const maxShownPath = 200;

function unreadableFolder(path: string, cause: unknown): SandboxError {
  const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
  const isLong = code === 'ENAMETOOLONG';
  const why = isLong ? 'its path is too long. Remove it' : `${code}. Run chmod u+rwx on it`;
  const shown = isLong ? `${path.slice(0, maxShownPath)}…` : path;
  const message = `Cannot search ${shown} for repositories to protect: ${why}, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path }, { cause });
}

/**
 * True if this user can neither list nor enter the folder. The owner of an unreadable folder can still enter it or change
 * its permissions, so for the owner it returns false.
 */
function isOutOfReach(path: string, error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (['ENOENT', 'ENOTDIR'].includes(code)) return true;
  if (code !== 'EACCES') return false;
  try {
    if (lstatSync(path).uid !== process.getuid?.()) accessSync(path, constants.X_OK);
    return false;
  } catch {
    // This process cannot enter this folder or one above. If the folder above belongs to this user, the search has
    // already refused it.
    return true;
  }
}
