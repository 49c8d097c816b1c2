import { type Dir, type Dirent, opendirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Folder } from '../../workspace/folder.ts';
import { type IgnoreRules, readIgnoreFiles } from './ignore-rules.ts';

export interface WalkedFile {
  readonly name: string;
  /** The path relative to the start of the walk, with `/` as separator. */
  readonly path: string;
  /** The folder that contains the file. The folder stays open until the next file is requested. */
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
  /** Whether to yield symbolic links too. Default: false. */
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
  const { rules } = options;
  yield* walkLevel({ folder: start, path: '', depth: 0, rules }, options, report);
}

export function createWalkReport(): WalkReport {
  return { entries: 0, unreadable: 0, secrets: 0, cut: undefined };
}

async function* walkLevel(
  level: Level,
  options: WalkOptions,
  report: WalkReport,
): AsyncGenerator<WalkedFile> {
  const { folder, path } = level;
  const entries = await readEntries(folder, options, report);
  const rules = await rulesOfFolder(level, entries, options);
  for (const { name, isFolder, isLink } of entries) {
    if (isStopped(options, report)) return;
    const inner = path === '' ? name : `${path}/${name}`;
    if (name === '.git' || rules.ignores(fromBase(options, inner), isFolder)) continue;
    if (isFolder) yield* walkFolder({ ...level, path: inner, rules }, name, options, report);
    else yield { name, path: inner, folder, isLink };
  }
}

async function* walkFolder(
  { folder, path, depth, rules }: Level,
  name: string,
  options: WalkOptions,
  report: WalkReport,
): AsyncGenerator<WalkedFile> {
  if (depth >= options.maxDepth) {
    report.cut ??= 'depth';
    return;
  }
  const inner = await folder.enter(name).catch(() => undefined);
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
  let opened: Dir | undefined;
  try {
    // A synchronous call needs a fraction of the time of an asynchronous one.
    opened = opendirSync(folder.pathOf(), { bufferSize: 1024 });
    for (let entry: Dirent | null; ; ) {
      if (report.entries % 1024 === 1023) await setImmediate();
      entry = opened.readSync();
      if (entry === null) break;
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
  } finally {
    opened?.closeSync();
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
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
