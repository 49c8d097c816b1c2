import { isUtf8 } from 'node:buffer';
import { lstatSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type HashBytes, submodulePaths } from '../git-index.ts';
import { readGitSettings } from '../read-git-settings.ts';
import { readRegularFileSync } from '../read-regular-file.ts';

/** Git refuses a larger file. */
const maxPointerBytes = 1_048_576;

/**
 * Reads a file `.git`, which names the folder of the repository, as git does. Returns undefined if git
 * refuses it, and `unclear` if this function and git may read different paths.
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

/** Reads a file `.git` that may be hostile. Returns `unclear` if it cannot be read. */
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
    // Not `resolve`: the kernel follows a link before it applies `..` to it.
    return realPath(pointer.path.startsWith('/') ? pointer.path : `${worktree}/${pointer.path}`);
  } catch {
    return undefined;
  }
}

/** Resolves a path as the kernel does. Returns undefined if nothing is there. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** The index of a repository. */
export interface ReadIndex {
  /** Differs after each change. No command can choose the time of change. Empty: there is no index. */
  readonly stamp: string;
  /** The paths of the submodules. Undefined if git may see others. */
  readonly submodules: readonly string[] | undefined;
}

const [maxIndexBytes, maxKept] = [134_217_728, 1000];

/** A file that changed later than this before it was read is read again, as folders are. */
const settledAfterMs = 3000;

interface KeptIndex extends ReadIndex {
  /** Whether a later change certainly gives another stamp. */
  readonly isSettled: boolean;
  /** The index, the further files of a split one, and the settings that say how to read them. */
  readonly files: readonly string[];
  /** The stamps of these files. */
  readonly seen: string;
}

/** Reads the index of repositories, and again only after a change. */
export class IndexReader {
  readonly #known = new Map<string, KeptIndex>();

  read(git: string): ReadIndex {
    const known = this.#known.get(git);
    if (known?.isSettled && known.seen === stampOf(known.files)) return known;
    const settled = Date.now() - settledAfterMs;
    const path = join(git, 'index');
    const settings = settingsOf(git);
    // Before reading: a change meanwhile is noticed by the next call.
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

/** The files that say which hashes a repository has. A worktree has the settings of its repository. */
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

/** An index with more of them cannot be checked. */
const maxSharedFiles = 50;

/**
 * The further files of a split index. It names one by a hash after the name `link`, which can also be
 * a part of another name: then no such file exists.
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

/** When a file changed, in milliseconds since 1970. A missing file changes when it is created. */
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
