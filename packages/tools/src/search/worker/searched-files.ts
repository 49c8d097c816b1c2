import { constants, fstatSync } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { lexicalPath, pathMatcher } from '../../permissions/permission-rule.ts';
import { compileGlob } from '../../workspace/compile-glob.ts';
import { type Folder, folderOpener } from '../../workspace/folder.ts';
import type { SearchRequest } from '../search-request.ts';
import { startingRules } from './ignore-rules.ts';
import { type WalkedFile, type WalkReport, walkFiles } from './walk-files.ts';

/** The files that a search is about, each with its path from the root on. */
export async function* searchedFiles(
  request: SearchRequest,
  report: WalkReport,
  signal: AbortSignal,
): AsyncGenerator<WalkedFile> {
  const { root, segments, glob, exclude } = request;
  const isWanted = glob === undefined ? () => true : globMatcher(glob);
  const excluded = exclude.flatMap(deniedMatchers);
  for await (const file of filesBelow(request, report, signal)) {
    const path = [...segments, ...(file.path === '' ? [] : [file.path])].join('/');
    if (!isWanted(file.path === '' ? file.name : file.path)) continue;
    const placed = lexicalPath(root, path);
    if (!excluded.some((isExcluded) => isExcluded(placed))) yield { ...file, path };
  }
}

/** As a permission policy reads it, and as a name too, which may look like a glob. */
function deniedMatchers(glob: string) {
  return [false, true].map((exact) => pathMatcher(glob, { decision: 'deny', exact }));
}

/** By their paths below the place that is searched: '' where that is a file itself. */
async function* filesBelow(
  { root, segments, maxEntries, maxDepth }: SearchRequest,
  report: WalkReport,
  signal: AbortSignal,
): AsyncGenerator<WalkedFile> {
  const name = segments.at(-1);
  const parent = await openSegments(root, segments.slice(0, -1));
  let start = parent;
  try {
    const there = name === undefined ? undefined : await lstat(parent.pathOf(name));
    if (name !== undefined && there?.isFile()) {
      yield { name, path: '', folder: parent };
      return;
    }
    if (there?.isDirectory() === false) throw new Error('it is neither a file nor a folder');
    if (name !== undefined) start = await parent.enter(name);
    const { rules, path: rulesPath } = await startingRules(root, join(root, ...segments));
    yield* walkFiles(start, { rules, rulesPath, maxEntries, maxDepth, signal }, report);
  } finally {
    if (start !== parent) await start.close();
    await parent.close();
  }
}

async function openSegments(root: string, segments: readonly string[]): Promise<Folder> {
  let folder = await folderOpener(root)();
  for (const name of segments) {
    const parent = folder;
    try {
      folder = await parent.enter(name);
    } finally {
      await parent.close();
    }
  }
  return folder;
}

// Without O_NONBLOCK, to open a FIFO waits until somebody writes into it.
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Nothing for what is not the regular file any more that it was, or may not be read. */
export async function openWalkedFile({
  folder,
  name,
}: WalkedFile): Promise<FileHandle | undefined> {
  const handle = await open(folder.pathOf(name), readFlags).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    await folder.check(name, handle);
    if (fstatSync(handle.fd).isFile()) return handle;
  } catch {
    // It was moved while it was opened.
  }
  await handle.close();
  return undefined;
}

type MatchPath = (path: string) => boolean;

/**
 * Whether a path fits a glob. One without a slash is about the name alone, at any depth; `!` in front
 * turns it round; a slash at the end means all that is in there.
 */
function globMatcher(glob: string): MatchPath {
  const isNegative = glob.startsWith('!');
  const pattern = (isNegative ? glob.slice(1) : glob).replace(/^(?:\.\/)+/, '');
  const whole = pattern.endsWith('/') ? `${pattern}**` : pattern;
  const isMatch = compileGlob(whole);
  const matchesNameOnly = !whole.includes('/');
  return (path) => isMatch(matchesNameOnly ? nameOf(path) : path) !== isNegative;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
