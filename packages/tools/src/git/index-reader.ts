import { createHash } from 'node:crypto';
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { entryOf } from '../workspace/real-form.ts';
import { type IndexParts, indexPaths, sharedIndexName, submodulePaths } from './git-index.ts';
import type { HashBytes } from './index-form.ts';
import { readGitSettings } from './read-git-settings.ts';
import { readRegularFileSync } from './read-regular-file.ts';
import { commonFolderOf } from './repositories/submodules.ts';

/** The index of a repository. */
export interface ReadIndex {
  /**
   * A digest of the content of the index, and of the files of a split index. Empty if there is no index. Undefined if
   * the files are too large or cannot be read.
   */
  readonly stamp: string | undefined;
  /** The paths of the submodules. Undefined if git may read different submodules. */
  readonly submodules: readonly string[] | undefined;
}

const [maxIndexBytes, maxKept] = [134_217_728, 1000];

/** The minimum age of a file's last change, in milliseconds. A file with a newer change is read again. */
const settledAfterMs = 3000;

interface KeptIndex extends ReadIndex {
  /** The number of the last `forget` before the files were read. */
  readonly readAfter: number;
  /**
   * True if the files had not changed recently. Then `seen` shows most later changes, but not those through a memory
   * mapping.
   */
  readonly isSettled: boolean;
  /** The paths of the index, of the files of a split index, and of the settings that define their format. */
  readonly files: readonly string[];
  /** The stamps of all files in `files`. */
  readonly seen: string;
  /** A digest of the settings. */
  readonly format: string;
}

/**
 * Maximum size of all indexes whose paths one check reads, in bytes. A command can create many large files with hard
 * links. The other indexes count as unreadable.
 */
const maxCheckedBytes = 134_217_728;
/** Maximum size of all files whose content one check compares, in bytes. */
const maxComparedBytes = 268_435_456;
/** A byte of settings needs as much time as this number of bytes of an index. */
const bytesPerSettingsByte = 16;

/** Reads the indexes of repositories. It reads the paths of an index again only if its content has changed. */
export class IndexReader {
  readonly #known = new Map<string, KeptIndex>();
  #leftBytes = maxCheckedBytes;
  #leftToCompare = maxComparedBytes;
  #forgotten = 0;

  /** Starts a check, in which the reader can read `maxCheckedBytes`, and compare `maxComparedBytes`. */
  startCheck(): void {
    this.#leftBytes = maxCheckedBytes;
    this.#leftToCompare = maxComparedBytes;
  }

  /**
   * Makes the reader compare the content of all files again. Call it after each command. A command can change a file
   * through a memory mapping, and then neither the size nor the ctime of the file changes.
   */
  forget(): void {
    this.#forgotten++;
  }

  read(git: string): ReadIndex {
    try {
      return this.#read(git);
    } catch {
      // A command may have written a file that makes this code fail. The index then counts as changed and unreadable.
      return unreadable;
    }
  }

  #read(git: string): ReadIndex {
    const known = this.#known.get(git);
    const isRecent = known?.isSettled && known.readAfter === this.#forgotten;
    if (isRecent && known.seen === stampOf(known.files)) return known;
    const settled = Date.now() - settledAfterMs;
    if (stampOf([join(git, 'index')]) === '') return { stamp: '', submodules: [] };
    const ofIndex = [join(git, 'index'), ...sharedFiles(git)];
    const settings = settingsOf(git);
    const files = [...ofIndex, ...settings];
    // The stamps are computed before the read, so the next call detects a change during the read.
    const seen = stampOf(files);
    const settingsBytes = bytesOf(settings);
    const bytes = bytesOf(ofIndex) + settingsBytes;
    if (bytes > this.#leftToCompare) return unreadable;
    this.#leftToCompare -= bytes;
    const contents = contentsOf(ofIndex, maxComparedBytes);
    const formats = contentsOf(settings, maxSettingsBytes);
    const [stamp, format] = [digestOf(contents), digestOf(formats)];
    const isSame = known?.stamp === stamp && known.format === format;
    const bytesToRead = isSame ? 0 : bytes + bytesPerSettingsByte * settingsBytes;
    if (bytesToRead > this.#leftBytes) return { stamp, submodules: undefined };
    this.#leftBytes -= bytesToRead;
    const submodules = isSame ? known.submodules : submodulesOf(git, contents, formats);
    const isSettled = files.every((file) => changedAt(file) < settled);
    const read = { stamp, files, isSettled, submodules, seen, format, readAfter: this.#forgotten };
    if (this.#known.size >= maxKept) this.#known.clear();
    this.#known.set(git, read);
    return read;
  }
}

const unreadable: ReadIndex = { stamp: undefined, submodules: undefined };

type Contents = ReadonlyMap<string, Buffer | undefined>;

/** Returns the content of files by path, and undefined for a missing file or an entry that is no file. */
function contentsOf(files: readonly string[], maxBytes: number): Contents {
  return new Map(files.map((file) => [file, readRegularFileSync(file, maxBytes)]));
}

function digestOf(contents: Contents): string {
  const hash = createHash('sha256');
  for (const [path, content] of contents) {
    hash.update(`${path}\0${content?.length ?? `no file ${stampOf([path])}`}\0`);
    if (content !== undefined) hash.update(content);
  }
  return hash.digest('hex');
}

function submodulesOf(git: string, contents: Contents, formats: Contents): ReadIndex['submodules'] {
  const index = contents.get(join(git, 'index'));
  const format = formatOf([...formats.values()]);
  return index && index.length <= maxIndexBytes && format
    ? readPaths(index, (file) => contents.get(file), git, format, submodulePaths)
    : undefined;
}

/** Returns all files that can be a part of a split index. */
function sharedFiles(git: string): readonly string[] {
  try {
    const names = readdirSync(git).filter((name) => name.startsWith('sharedindex.'));
    return names.toSorted().map((name) => join(git, name));
  } catch {
    // This user cannot list the folder, so a split index counts as unreadable.
    return [];
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
  const format = formatOf([...contentsOf(settingsOf(git), maxSettingsBytes).values()]);
  if (index === undefined || format === undefined) return undefined;
  const read = (file: string) => readRegularFileSync(file, maxIndexBytes);
  return readPaths(index, read, git, format, pathsIn);
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

/**
 * Returns the format of an index. Returns undefined if git may read the index in another format. `contents` belongs to
 * the files of `settingsOf`.
 */
function formatOf([, ...contents]: readonly (Buffer | undefined)[]): IndexFormat | undefined {
  const [common = [], own = []] = contents.map((content) =>
    readGitSettings(content?.toString('utf8') ?? ''),
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
  read: (file: string) => Buffer | undefined,
  git: string,
  format: IndexFormat,
  pathsIn: typeof indexPaths,
): readonly string[] | undefined {
  const others = sharedIndexes(git, index, format).map(read);
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

function bytesOf(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + (entryOf(file)?.size ?? 0), 0);
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
 * Returns a text that changes with each change of the files, except a change through a memory mapping. The text is
 * empty for a single path without a file.
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
