import { isUtf8 } from 'node:buffer';
import { lstatSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type HashBytes, indexPaths, submodulePaths } from '../git-index.ts';
import { readGitSettings } from '../read-git-settings.ts';
import { readRegularFileSync } from '../read-regular-file.ts';

/** Maximum size of a `.git` file, in bytes. Git refuses a larger file. */
const maxPointerBytes = 1_048_576;

/**
 * Returns the path in a `.git` file, which leads to the git folder of the repository. Returns undefined if
 * git refuses the file. Returns `unclear` if this function and git may read different paths.
 */
function readPointer(content: Buffer): { readonly path: string } | 'unclear' | undefined {
  let end = content.length;
  while (end > 0 && isLineBreak(content[end - 1])) end--;
  const bytes = content.subarray(0, end);
  if (bytes.toString('latin1', 0, prefix.length) !== prefix || end === prefix.length)
    return undefined;
  const path = bytes.toString('utf8', prefix.length);
  const isClear = isUtf8(bytes) && bytes.every((byte) => byte >= 0x20 && byte !== 0x7f);
  return isClear && end <= maxPathBytes ? { path } : 'unclear';
}

const prefix = 'gitdir: ';
const maxPathBytes = 4096;

function isLineBreak(byte: number | undefined): boolean {
  return byte === 0x0a || byte === 0x0d;
}

/** Reads a `.git` file that an attacker may have written. Returns `unclear` if the file cannot be read. */
export function readPointerFile(file: string): ReturnType<typeof readPointer> {
  const content = readRegularFileSync(file, maxPointerBytes);
  return content === undefined ? 'unclear' : readPointer(content);
}

/** Returns the real path of the git folder of a worktree. Returns undefined if there is no repository. */
export function gitFolderOf(worktree: string): string | undefined {
  const git = join(worktree, '.git');
  try {
    if (lstatSync(git).isDirectory()) return git;
    const pointer = readPointerFile(git);
    if (pointer === undefined || pointer === 'unclear') return undefined;
    // `resolve` would be wrong here, because the kernel follows a link before it applies the next `..`.
    return realPath(pointer.path.startsWith('/') ? pointer.path : `${worktree}/${pointer.path}`);
  } catch {
    return undefined;
  }
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

/** Reads the indexes of repositories. It reads an index again only after a change. */
export class IndexReader {
  readonly #known = new Map<string, KeptIndex>();

  read(git: string): ReadIndex {
    const known = this.#known.get(git);
    if (known?.isSettled && known.seen === stampOf(known.files)) return known;
    const settled = Date.now() - settledAfterMs;
    const path = join(git, 'index');
    const settings = settingsOf(git);
    // The stamp is computed before the read, so the next call detects a change during the read.
    const before = stampOf([path]);
    const seenSettings = stampOf(settings);
    const index = readRegularFileSync(path, maxIndexBytes);
    const shared = index === undefined ? [] : sharedIndexes(git, index);
    const stamp = [before, ...shared.map((file) => stampOf([file]))].join(' ');
    const files = [path, ...shared, ...settings];
    const isSettled = files.every((file) => changedAt(file) < settled);
    const submodules =
      before === '' ? [] : index && readPaths(index, shared, hashBytesOf(settings), submodulePaths);
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
  return (
    index && readPaths(index, sharedIndexes(git, index), hashBytesOf(settingsOf(git)), pathsIn)
  );
}

const maxSettingsBytes = 1_048_576;

/**
 * Returns the files that define the hash format of a repository. A worktree uses the settings of its
 * repository.
 */
function settingsOf(git: string): readonly string[] {
  const pointer = join(git, 'commondir');
  const common = readRegularFileSync(pointer, maxPathBytes)?.toString('utf8').trim();
  return [pointer, join(resolve(git, common ?? '.'), 'config')];
}

function hashBytesOf([, config = '']: readonly string[]): HashBytes {
  const text = readRegularFileSync(config, maxSettingsBytes)?.toString('utf8') ?? '';
  const isLong = readGitSettings(text).some(
    ({ section, key, value }) =>
      section === 'extensions' && key === 'objectformat' && value !== 'sha1',
  );
  return isLong ? 32 : 20;
}

function readPaths(
  index: Buffer,
  shared: readonly string[],
  hashBytes: HashBytes,
  pathsIn: typeof indexPaths,
): readonly string[] | undefined {
  if (shared.length > maxSharedFiles) return undefined;
  const others = shared.map((file) => readRegularFileSync(file, maxIndexBytes));
  const known = others.filter((one) => one !== undefined);
  return known.length < others.length ? undefined : pathsIn(index, { shared: known, hashBytes });
}

/** Maximum number of shared files of a split index. An index with more shared files cannot be checked. */
const maxSharedFiles = 50;

/**
 * Returns the shared files of a split index. The index contains the hash of a shared file after the text
 * `link`. A name in the index can also contain that text, but then no file with that hash exists.
 */
function sharedIndexes(git: string, index: Buffer): readonly string[] {
  const found = new Set<string>();
  let at = index.indexOf('link', 0, 'latin1');
  for (; at !== -1 && found.size <= maxSharedFiles; at = index.indexOf('link', at + 1, 'latin1'))
    for (const bytes of [20, 32]) {
      const path = join(git, `sharedindex.${index.toString('hex', at + 8, at + 8 + bytes)}`);
      if (stampOf([path]) !== '') found.add(path);
    }
  return [...found];
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
