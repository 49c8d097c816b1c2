import { opendir } from 'node:fs/promises';
import type { Folder } from '../../workspace/folder.ts';
import { type IgnoreRules, readIgnoreFiles } from './ignore-rules.ts';

export interface WalkedFile {
  readonly name: string;
  /** Relative to where the walk began, with `/`. */
  readonly path: string;
  /** The folder it is in, open until the next file is asked for. */
  readonly folder: Folder;
}

interface WalkOptions {
  readonly rules: IgnoreRules;
  /** The folder the walk starts in, relative to the base of the rules: '' for the base. */
  readonly rulesPath: string;
  /** Files, folders and all the rest together. */
  readonly maxEntries: number;
  readonly maxDepth: number;
  /** Ends the walk, without an error. */
  readonly signal: AbortSignal;
}

/** What a walk came across. Counts up while it goes on. */
export interface WalkReport {
  entries: number;
  /** Folders that could not be read. */
  unreadable: number;
  cut: 'entries' | 'depth' | 'stopped' | undefined;
}

interface Level {
  readonly folder: Folder;
  readonly path: string;
  readonly depth: number;
  readonly rules: IgnoreRules;
}

/**
 * The regular files below a folder that are not ignored, by name, folder after folder. Links are not
 * followed, and `.git` is not entered. Gives way to others at each folder.
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
  return { entries: 0, unreadable: 0, cut: undefined };
}

async function* walkLevel(
  level: Level,
  options: WalkOptions,
  report: WalkReport,
): AsyncGenerator<WalkedFile> {
  const { folder, path } = level;
  const entries = await readEntries(folder, options, report);
  const rules = await rulesOfFolder(level, entries, options);
  for (const { name, isFolder } of entries) {
    if (isStopped(options, report)) return;
    const inner = path === '' ? name : `${path}/${name}`;
    if (name === '.git' || rules.ignores(fromBase(options, inner), isFolder)) continue;
    if (isFolder) yield* walkFolder({ ...level, path: inner, rules }, name, options, report);
    else yield { name, path: inner, folder };
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
}

/** The files and folders of a folder in order of their names, as many as may still be looked at. */
async function readEntries(
  folder: Folder,
  { maxEntries, signal }: WalkOptions,
  report: WalkReport,
): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  try {
    for await (const entry of await opendir(folder.pathOf(), { bufferSize: 1024 })) {
      if (signal.aborted) report.cut ??= 'stopped';
      else if (report.entries >= maxEntries) report.cut ??= 'entries';
      if (signal.aborted || report.entries >= maxEntries) break;
      report.entries++;
      const isFolder = entry.isDirectory();
      if (isFolder || entry.isFile() || entry.name === '.git')
        entries.push({ name: entry.name, isFolder });
    }
  } catch {
    report.unreadable++;
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
