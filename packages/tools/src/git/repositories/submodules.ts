import { isUtf8 } from 'node:buffer';
import { lstatSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type HashBytes, submodulePaths } from '../git-index.ts';
import { readGitSettings } from '../read-git-settings.ts';
import { readRegularFileSync } from '../read-regular-file.ts';

/** Maximum size of a `.git` file, in bytes. Git refuses a larger file. */
const maxPointerBytes = 1_048_576;

/**
 * Returns the path in a `.git` file, which names the folder of the repository. Returns undefined if git
 * refuses the file, and `unclear` if this function and git may read different paths.
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

/** Reads a `.git` file that may be hostile. Returns `unclear` if it cannot be read. */
export function readPointerFile(file: string): ReturnType<typeof readPointer> {
  const content = readRegularFileSync(file, maxPointerBytes);
  return content === undefined ? 'unclear' : readPointer(content);
}

/** Returns the real path of the repository of a worktree, or undefined if there is none. */
export function gitFolderOf(worktree: string): string | undefined {
  const git = join(worktree, '.git');
  try {
    if (lstatSync(git).isDirectory()) return git;
    const pointer = readPointerFile(git);
    if (pointer === undefined || pointer === 'unclear') return undefined;
    // `resolve` is not used, because the kernel follows a link before it applies `..` to it.
    return realPath(pointer.path.startsWith('/') ? pointer.path : `${worktree}/${pointer.path}`);
  } catch {
    return undefined;
  }
}

/** Resolves a path as the kernel does. Returns undefined if the path does not exist. */
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
   * A text that differs after each change of the index. It includes the ctime, which no command can
   * choose. Empty if there is no index.
   */
  readonly stamp: string;
  /** The paths of the submodules. Undefined if git may read other submodules. */
  readonly submodules: readonly string[] | undefined;
}

const [maxIndexBytes, maxKept] = [134_217_728, 1000];

/** The minimum age of a file's last change, in milliseconds. A file that changed later is read again. */
const settledAfterMs = 3000;

interface KeptIndex extends ReadIndex {
  /**
   * True if the files were not changed recently. Only then does every later change give them another
   * time, and so another stamp.
   */
  readonly isSettled: boolean;
  /**
   * The paths of the index, of the further files of a split index, and of the settings that define how to
   * read them.
   */
  readonly files: readonly string[];
  /** The stamps of these files. */
  readonly seen: string;
}

/** Reads the index of repositories. It reads an index again only after a change. */
export class IndexReader {
  readonly #known = new Map<string, KeptIndex>();

  read(git: string): ReadIndex {
    const known = this.#known.get(git);
    if (known?.isSettled && known.seen === stampOf(known.files)) return known;
    const settled = Date.now() - settledAfterMs;
    const path = join(git, 'index');
    const settings = settingsOf(git);
    // The stamp is taken before reading, so the next call notices a change during the read.
    const before = stampOf([path]);
    const seenSettings = stampOf(settings);
    const index = readRegularFileSync(path, maxIndexBytes);
    const shared = index === undefined ? [] : sharedIndexes(git, index);
    const stamp = [before, ...shared.map((file) => stampOf([file]))].join(' ');
    const files = [path, ...shared, ...settings];
    const isSettled = files.every((file) => changedAt(file) < settled);
    const submodules =
      before === '' ? [] : index && readSubmodules(index, shared, hashBytesOf(settings));
    const read = { stamp, files, isSettled, submodules, seen: `${stamp} ${seenSettings}` };
    if (this.#known.size >= maxKept) this.#known.clear();
    this.#known.set(git, read);
    return read;
  }
}

const maxSettingsBytes = 1_048_576;

/**
 * Returns the files that define the hashes of a repository. A worktree uses the settings of its
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

function readSubmodules(
  index: Buffer,
  shared: readonly string[],
  hashBytes: HashBytes,
): readonly string[] | undefined {
  if (shared.length > maxSharedFiles) return undefined;
  const others = shared.map((file) => readRegularFileSync(file, maxIndexBytes));
  const known = others.filter((one) => one !== undefined);
  return known.length < others.length
    ? undefined
    : submodulePaths(index, { shared: known, hashBytes });
}

/** Maximum number of further files. An index with more of them cannot be checked. */
const maxSharedFiles = 50;

/**
 * Returns the further files of a split index. The index names such a file by a hash after the text
 * `link`. That text can also be part of a name in the index, but then no such file exists.
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
 * Returns the time at which a file changed, in milliseconds since 1970. It is 0 for a missing file,
 * because its creation is a change.
 */
function changedAt(path: string): number {
  try {
    return lstatSync(path).ctimeMs;
  } catch {
    return 0;
  }
}

function stampOf(paths: readonly string[]): string {
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
