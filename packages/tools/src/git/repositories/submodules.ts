import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { lstatSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { entryOf } from '../../workspace/real-form.ts';
import { type IndexParts, indexPaths, sharedIndexName, submodulePaths } from '../git-index.ts';
import type { HashBytes } from '../index-form.ts';
import { readGitSettings } from '../read-git-settings.ts';
import { readRegularFileSync } from '../read-regular-file.ts';

/** Maximum size of a `.git` file, in bytes. Git refuses a larger file. */
const maxPointerBytes = 1_048_576;
const maxPathBytes = 4096;

/** A folder whose path is in a file of git. */
interface NamedFolder {
  /** The absolute path, as the file names it. */
  readonly path: string;
  /** The real path. Undefined if the folder does not exist. */
  readonly real: string | undefined;
}

/** `unclear` means that git may use a different folder than the one that this code reads. */
type ReadFolderName = NamedFolder | 'unclear' | undefined;

/**
 * Returns the git folder of a worktree. Its `.git` is this folder, a link to it, or a file with its path. Returns
 * undefined if there is no repository, or if git refuses the file. An attacker may have written the file.
 */
export function readGitFolder(worktree: string): ReadFolderName {
  const git = join(worktree, '.git');
  const entry = entryOf(git);
  if (entry === undefined) return undefined;
  const at = entry.isSymbolicLink() ? realPath(git) : git;
  if (at === undefined) return undefined;
  if (entryOf(at)?.isDirectory()) return { path: git, real: at };
  const content = readRegularFileSync(at, maxPointerBytes);
  if (content === undefined) return 'unclear';
  const prefix = 'gitdir: ';
  const bytes = withoutLineBreak(content);
  if (bytes.toString('latin1', 0, prefix.length) !== prefix || bytes.length === prefix.length)
    return undefined;
  return readPath(worktree, bytes.subarray(prefix.length));
}

/**
 * Returns the folder with the settings and hooks of a git folder, if its file `commondir` names one. The git folder
 * of a linked worktree has this file.
 */
export function readCommonFolder(git: string): ReadFolderName {
  const file = join(git, 'commondir');
  if (entryOf(file) === undefined) return undefined;
  const content = readRegularFileSync(file, maxPathBytes);
  return content === undefined ? 'unclear' : readPath(git, withoutLineBreak(content));
}

function withoutLineBreak(content: Buffer): Buffer {
  let end = content.length;
  while (end > 0 && (content[end - 1] === 0x0a || content[end - 1] === 0x0d)) end--;
  return content.subarray(0, end);
}

/** Reads a path that is relative to a folder. A path with unusual characters, or with spaces around it, is unclear. */
function readPath(folder: string, bytes: Buffer): NamedFolder | 'unclear' {
  const name = bytes.toString('utf8');
  const isPlain = isUtf8(bytes) && bytes.every((byte) => byte >= 0x20 && byte !== 0x7f);
  if (!isPlain || name.trim() !== name || bytes.length > maxPathBytes) return 'unclear';
  const written = name.startsWith('/') ? name : `${folder}/${name}`;
  // `resolve` removes `..` from the text, but the kernel follows a link before it applies the next `..`.
  const [path, real] = [resolve(written), realPath(written)];
  return real === realPath(path) ? { path, real } : 'unclear';
}

/** Returns the real path of the git folder of a worktree. Returns undefined if it does not exist or is unclear. */
export function gitFolderOf(worktree: string): string | undefined {
  const folder = readGitFolder(worktree);
  return folder === 'unclear' ? undefined : folder?.real;
}

/** Returns the real path of the folder with the settings, hooks and objects of a git folder. */
export function commonFolderOf(git: string): string {
  const common = readCommonFolder(git);
  return common === undefined || common === 'unclear' ? git : (common.real ?? common.path);
}

/** Resolves a path in the same way as the kernel. Returns undefined if the path does not exist. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** The index of a repository. */
export interface ReadIndex {
  /**
   * A text that changes with each change of the index. It contains the ctime, because no command can set the
   * ctime. Empty if there is no index.
   */
  readonly stamp: string;
  /** The paths of the submodules. Undefined if git may read different submodules. */
  readonly submodules: readonly string[] | undefined;
}

const [maxIndexBytes, maxKept] = [134_217_728, 1000];

/** The minimum age of a file's last change, in milliseconds. A file with a newer change is read again. */
const settledAfterMs = 3000;

interface KeptIndex extends ReadIndex {
  /**
   * True if the files have not changed recently. Only then does every later change result in a different
   * stamp.
   */
  readonly isSettled: boolean;
  /**
   * The paths of the index, of the shared files of a split index, and of the settings that define their
   * format.
   */
  readonly files: readonly string[];
  /** The stamps of all files in `files`. */
  readonly seen: string;
}

/**
 * Maximum size of all indexes that one check reads, in bytes. A command can create many large files with hard links.
 * The other indexes count as unreadable.
 */
const maxCheckedBytes = 134_217_728;
/** A byte of settings needs as much time as this number of bytes of an index. */
const bytesPerSettingsByte = 16;

/** Reads the indexes of repositories. It reads an index again only after a change. */
export class IndexReader {
  readonly #known = new Map<string, KeptIndex>();
  #leftBytes = maxCheckedBytes;

  /** Starts a check, in which the reader can read `maxCheckedBytes`. */
  startCheck(): void {
    this.#leftBytes = maxCheckedBytes;
  }

  read(git: string): ReadIndex {
    try {
      return this.#read(git);
    } catch {
      // A command may have written a file that makes this code fail. The index then counts as changed and unreadable.
      return { stamp: randomUUID(), submodules: undefined };
    }
  }

  #read(git: string): ReadIndex {
    const known = this.#known.get(git);
    if (known?.isSettled && known.seen === stampOf(known.files)) return known;
    const settled = Date.now() - settledAfterMs;
    const path = join(git, 'index');
    const settings = settingsOf(git);
    // The stamp is computed before the read, so the next call detects a change during the read.
    const before = stampOf([path]);
    if (before !== '') {
      const bytes = sizeOf(path) + bytesPerSettingsByte * settings.map(sizeOf).reduce(add);
      if (bytes > this.#leftBytes) return { stamp: before, submodules: undefined };
      this.#leftBytes -= bytes;
    }
    const seenSettings = stampOf(settings);
    const index = readRegularFileSync(path, maxIndexBytes);
    const format = before === '' ? undefined : formatOf(settings);
    const shared =
      index === undefined || format === undefined ? [] : sharedIndexes(git, index, format);
    const stamp = [before, ...shared.map((file) => stampOf([file]))].join(' ');
    const files = [path, ...shared, ...settings];
    const isSettled = files.every((file) => changedAt(file) < settled);
    const submodules =
      before === '' ? [] : index && format && readPaths(index, shared, format, submodulePaths);
    const read = { stamp, files, isSettled, submodules, seen: `${stamp} ${seenSettings}` };
    if (this.#known.size >= maxKept) this.#known.clear();
    this.#known.set(git, read);
    return read;
  }
}

/**
 * Returns the paths of all files in the index of a git folder. Returns undefined if the index cannot be read. If
 * there is no index, the result is empty. With `checkedOutPaths`, the files outside of a sparse checkout are left
 * out.
 */
export function trackedPaths(
  git: string,
  pathsIn: typeof indexPaths = indexPaths,
): readonly string[] | undefined {
  const path = join(git, 'index');
  if (stampOf([path]) === '') return [];
  const index = readRegularFileSync(path, maxIndexBytes);
  if (index === undefined) return undefined;
  const format = formatOf(settingsOf(git));
  if (format === undefined) return undefined;
  return readPaths(index, sharedIndexes(git, index, format), format, pathsIn);
}

const maxSettingsBytes = 1_048_576;

/**
 * Returns the files that define the format of an index. A worktree uses the settings of its repository, and further
 * settings of its own.
 */
function settingsOf(git: string): readonly string[] {
  return [
    join(git, 'commondir'),
    join(commonFolderOf(git), 'config'),
    join(git, 'config.worktree'),
  ];
}

type IndexFormat = Omit<IndexParts, 'shared'>;

/** Returns the format of an index. Returns undefined if git may read the index in another format. */
function formatOf([, ...files]: readonly string[]): IndexFormat | undefined {
  const [common = [], own = []] = files.map((file) =>
    readGitSettings(readRegularFileSync(file, maxSettingsBytes)?.toString('utf8') ?? ''),
  );
  const hashBytes = hashBytesOf(common);
  const mayFold = [...common, ...own].some(
    ({ section, key }) => section === 'index' && key === 'sparse',
  );
  // No command can change the settings of a repository that exists.
  return hashBytes && { hashBytes, mayFold };
}

/**
 * Returns the size of the hashes of a repository. Git uses long hashes only in version 1 of the format. It ignores the
 * setting `extensions.objectFormat` in a repository without a version.
 */
function hashBytesOf(settings: ReturnType<typeof readGitSettings>): HashBytes | undefined {
  const valuesOf = (name: string) =>
    settings.flatMap(({ section, key, value }) => (`${section}.${key}` === name ? [value] : []));
  const formats = valuesOf('extensions.objectformat');
  if (formats.every((format) => format === 'sha1')) return 20;
  const versions = valuesOf('core.repositoryformatversion');
  const isLong = formats.join() === 'sha256' && versions.join() === '1';
  return isLong ? 32 : undefined;
}

function readPaths(
  index: Buffer,
  shared: readonly string[],
  format: IndexFormat,
  pathsIn: typeof indexPaths,
): readonly string[] | undefined {
  const others = shared.map((file) => readRegularFileSync(file, maxIndexBytes));
  const known = others.filter((one) => one !== undefined);
  return known.length < others.length ? undefined : pathsIn(index, { ...format, shared: known });
}

/** Returns the shared file of a split index. It may not exist. */
function sharedIndexes(git: string, index: Buffer, { hashBytes }: IndexFormat): readonly string[] {
  try {
    const name = sharedIndexName(index, hashBytes);
    return name === undefined ? [] : [join(git, name)];
  } catch (error) {
    // The index is damaged, so nobody can read its paths.
    if (error instanceof RangeError) return [];
    throw error;
  }
}

const add = (sum: number, one: number) => sum + one;

function sizeOf(path: string): number {
  return entryOf(path)?.size ?? 0;
}

/**
 * Returns the time of a file's last change, in milliseconds since 1970. Returns 0 for a missing file, because
 * its creation would be a change.
 */
function changedAt(path: string): number {
  try {
    return lstatSync(path).ctimeMs;
  } catch {
    return 0;
  }
}

/**
 * Returns a text that changes with each change of the files. The text is empty for a single path without a
 * file.
 */
export function stampOf(paths: readonly string[]): string {
  return paths.map(stampOfFile).join(' ');
}

function stampOfFile(path: string): string {
  try {
    const { ino, size, ctimeNs } = lstatSync(path, { bigint: true });
    return `${ino}:${size}:${ctimeNs}`;
  } catch {
    return '';
  }
}
