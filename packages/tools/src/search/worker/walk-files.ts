import { type Dirent, opendirSync, readdirSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Folder } from '../../workspace/folder.ts';
import { type IgnoreRules, readIgnoreFiles } from './ignore-rules.ts';

export interface WalkedFile {
  readonly name: string;
  /** The path relative to the start of the walk, with `/` as separator. */
  readonly path: string;
  /** The folder that contains the file. The folder stays open until the next file or batch is requested. */
  readonly folder: Folder;
  /** True if it is a symbolic link. */
  readonly isLink: boolean;
}

interface WalkOptions {
  readonly rules: IgnoreRules;
  /** The start of the walk, relative to the base of the rules. It is '' if both are the same folder. */
  readonly rulesPath: string;
  /** Maximum total number of files, folders and other entries. */
  readonly maxEntries: number;
  readonly maxDepth: number;
  /** If true, the walk yields symbolic links too. Default: false. */
  readonly withLinks?: boolean;
  /** Ends the walk without an error when it aborts. */
  readonly signal: AbortSignal;
}

/** Statistics of a walk, updated while it runs. */
export interface WalkReport {
  entries: number;
  /** Number of folders that could not be read. */
  unreadable: number;
  /** Number of files that were skipped because they look like secrets. */
  secrets: number;
  /** Number of files that were skipped because a rule asks about them. */
  asked: number;
  cut: 'entries' | 'depth' | 'stopped' | undefined;
}

interface Level {
  readonly folder: Folder;
  readonly path: string;
  readonly depth: number;
  readonly rules: IgnoreRules;
}

/**
 * Yields the regular files below a folder that are not ignored, sorted by name within each folder. The
 * walk does not follow links and does not enter `.git`. At each folder it lets other tasks of the event loop
 * run.
 */
export async function* walkFiles(
  start: Folder,
  options: WalkOptions,
  report: WalkReport,
): AsyncGenerator<WalkedFile> {
  for await (const files of walkBatches(start, options, report)) {
    for (const file of files) {
      if (isStopped(options, report)) return;
      yield file;
    }
  }
}

/**
 * Does the same as `walkFiles`, and yields several files of one folder at a time. A step of an asynchronous
 * generator takes longer than the search of a small file.
 */
export async function* walkBatches(
  start: Folder,
  options: WalkOptions,
  report: WalkReport,
): AsyncGenerator<readonly WalkedFile[]> {
  const { rules } = options;
  yield* walkLevel({ folder: start, path: '', depth: 0, rules }, options, report);
}

export function createWalkReport(): WalkReport {
  return { entries: 0, unreadable: 0, secrets: 0, asked: 0, cut: undefined };
}

/** Maximum number of files in a batch. The walk can stop after each batch. */
const maxBatchLength = 256;

async function* walkLevel(
  level: Level,
  options: WalkOptions,
  report: WalkReport,
): AsyncGenerator<readonly WalkedFile[]> {
  const { folder, path } = level;
  const entries = await readEntries(folder, options, report);
  const rules = await rulesOfFolder(level, entries, options);
  const prefix = path === '' ? '' : `${path}/`;
  let files: WalkedFile[] = [];
  for (const { name, isFolder, isLink } of entries) {
    if (isStopped(options, report)) return;
    const inner = prefix + name;
    if (name === '.git' || rules.ignores(fromBase(options, inner), isFolder)) continue;
    if (!isFolder) files.push({ name, path: inner, folder, isLink });
    if (files.length > 0 && (isFolder || files.length === maxBatchLength)) {
      yield files;
      files = [];
    }
    if (isFolder) yield* walkFolder({ ...level, path: inner, rules }, name, options, report);
  }
  if (files.length > 0) yield files;
}

async function* walkFolder(
  { folder, path, depth, rules }: Level,
  name: string,
  options: WalkOptions,
  report: WalkReport,
): AsyncGenerator<readonly WalkedFile[]> {
  if (depth >= options.maxDepth) {
    report.cut ??= 'depth';
    return;
  }
  const inner = await enterFolder(folder, name);
  if (inner === undefined) {
    report.unreadable++;
    return;
  }
  try {
    yield* walkLevel({ folder: inner, path, depth: depth + 1, rules }, options, report);
  } finally {
    await inner.close();
  }
}

/** Opens a subfolder. Returns undefined if this is not possible. */
async function enterFolder(folder: Folder, name: string): Promise<Folder | undefined> {
  try {
    return folder.enterNow === undefined ? await folder.enter(name) : folder.enterNow(name);
  } catch {
    return undefined;
  }
}

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly isLink: boolean;
}

/** Returns the entries of a folder sorted by name, up to the remaining limit. */
async function readEntries(
  folder: Folder,
  { maxEntries, signal, withLinks = false }: WalkOptions,
  report: WalkReport,
): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  try {
    for (const entry of direntsOf(folder.pathOf())) {
      if (report.entries % 1024 === 1023) await setImmediate();
      if (signal.aborted) report.cut ??= 'stopped';
      else if (report.entries >= maxEntries) report.cut ??= 'entries';
      if (signal.aborted || report.entries >= maxEntries) break;
      report.entries++;
      const isFolder = entry.isDirectory();
      const isLink = entry.isSymbolicLink();
      if (isFolder || entry.isFile() || entry.name === '.git' || (isLink && withLinks))
        entries.push({ name: entry.name, isFolder, isLink });
    }
  } catch {
    report.unreadable++;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The entries of a folder with at most this size, in bytes, are read with one call. */
const maxSmallFolderBytes = 1_048_576;

/**
 * Returns the entries of a folder. A synchronous call needs a fraction of the time of an asynchronous one. A
 * folder can have millions of entries, so a large folder is read in pieces.
 */
function direntsOf(path: string): Iterable<Dirent> {
  const { size } = statSync(path);
  const isSmall = size > 0 && size <= maxSmallFolderBytes;
  return isSmall ? readdirSync(path, { withFileTypes: true }) : direntsOfLargeFolder(path);
}

function* direntsOfLargeFolder(path: string): Generator<Dirent> {
  const opened = opendirSync(path, { bufferSize: 1024 });
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield entry;
  } finally {
    opened.closeSync();
  }
}

async function rulesOfFolder(
  { folder, path, rules }: Level,
  entries: readonly Entry[],
  options: WalkOptions,
): Promise<IgnoreRules> {
  const has = {
    git: entries.some(({ name }) => name === '.git'),
    ignoreFile: entries.some(({ name, isFolder }) => name === '.gitignore' && !isFolder),
  };
  const texts = await readIgnoreFiles(folder.pathOf(), has);
  return texts.reduce((above, text) => above.with(fromBase(options, path), text), rules);
}

function fromBase({ rulesPath }: WalkOptions, path: string): string {
  if (rulesPath === '') return path;
  return path === '' ? rulesPath : `${rulesPath}/${path}`;
}

function isStopped({ signal }: WalkOptions, report: WalkReport): boolean {
  if (signal.aborted) report.cut ??= 'stopped';
  return signal.aborted;
}
