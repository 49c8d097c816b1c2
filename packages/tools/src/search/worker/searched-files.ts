import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { secretProtection, secretsInFolder } from '../../permissions/home-protection.ts';
import { readProtection } from '../../permissions/protected-paths.ts';
import { askedMatcher } from '../../permissions/read-only/asked-paths.ts';
import { type Folder, folderOpener } from '../../workspace/folder.ts';
import { compileGlob } from '../../workspace/globs/compile-glob.ts';
import { lexicalPath, pathMatcher } from '../../workspace/match-path.ts';
import type { SearchRequest } from '../search-request.ts';
import { startingRules } from './ignore-rules.ts';
import { type WalkedFile, type WalkReport, walkBatches } from './walk-files.ts';

/** Yields the files to search in batches, with their paths relative to the root. */
export async function* searchedFiles(
  request: SearchRequest,
  report: WalkReport,
  signal: AbortSignal,
): AsyncGenerator<readonly WalkedFile[]> {
  const { root, segments, glob, searchSecrets, work } = request;
  const isWanted = glob === undefined ? () => true : globMatcher(glob);
  const leaveOut = leavingOut(request);
  // If the searched folder or file itself is protected, the user has already approved the call.
  const isApproved = secretProtection(lexicalPath(root, segments.join('/'))) !== undefined;
  const above = segments.length === 0 ? '' : `${segments.join('/')}/`;
  for await (const files of filesBelow(request, report, signal)) {
    const batch: WalkedFile[] = [];
    const isSecret = work.kind === 'grep' && secretsOf(request, files, isApproved);
    for (const file of files) {
      if (!isWanted(file.path === '' ? file.name : file.path)) continue;
      const path = file.path === '' ? segments.join('/') : above + file.path;
      const skip = leaveOut?.(join(root, path));
      if (skip === 'asked') report.asked++;
      if (skip !== undefined) continue;
      if (isSecret !== false && !searchSecrets && isSecret(file)) report.secrets++;
      else batch.push(path === file.path ? file : { ...file, path });
    }
    if (batch.length > 0) yield batch;
  }
}

/** Returns a function that tests whether a file of a batch is a secret. All files have the same folder. */
function secretsOf(
  { root, segments }: SearchRequest,
  [first]: readonly WalkedFile[],
  isApproved: boolean,
): (file: WalkedFile) => boolean {
  if (isApproved) return ({ path }) => readProtection(path) !== undefined;
  const inside = first === undefined || first.path === '' ? [] : first.path.split('/').slice(0, -1);
  const start = first?.path === '' ? segments.slice(0, -1) : segments;
  const isSecret = secretsInFolder(lexicalPath(root, [...start, ...inside].join('/')));
  return ({ name }) => isSecret(name);
}

/**
 * Returns a function that tells whether rules leave out a file, given by its absolute path. Returns undefined if
 * there are no such rules.
 */
function leavingOut({
  root,
  segments,
  rules,
}: SearchRequest): ((path: string) => 'denied' | 'asked' | undefined) | undefined {
  const searched = join(root, ...segments);
  const all = rules
    .filter(({ exclude, asked }) => exclude.length + asked.length > 0)
    .map((one) => ({
      root: one.root,
      excluded: one.exclude.flatMap(deniedMatchers),
      // If a rule covers the searched folder or file itself, the user has already approved the call.
      isAsked: askedMatcher(one.asked, lexicalPath(one.root, searched)),
    }));
  if (all.length === 0) return undefined;
  return (path) => {
    let skip: 'denied' | 'asked' | undefined;
    for (const one of all) {
      const placed = lexicalPath(one.root, path);
      if (one.excluded.some((isExcluded) => isExcluded(placed))) return 'denied';
      if (one.isAsked(placed)) skip = 'asked';
    }
    return skip;
  };
}

/**
 * Returns two matchers for a text: one for a glob, as in a permission policy, and one for an exact path. Both
 * are needed, because a path may look like a glob.
 */
function deniedMatchers(glob: string) {
  return [false, true].map((exact) => pathMatcher(glob, { isWide: true, exact }));
}

/**
 * Yields files with paths relative to the searched folder. The path is '' if a single file is
 * searched.
 */
async function* filesBelow(
  { root, segments, maxEntries, maxDepth }: SearchRequest,
  report: WalkReport,
  signal: AbortSignal,
): AsyncGenerator<readonly WalkedFile[]> {
  const name = segments.at(-1);
  const parent = await openSegments(root, segments.slice(0, -1));
  let start = parent;
  try {
    const there = name === undefined ? undefined : await lstat(parent.pathOf(name));
    if (name !== undefined && there?.isFile()) {
      yield [{ name, path: '', folder: parent, isLink: false }];
      return;
    }
    if (there?.isDirectory() === false) throw new Error('it is neither a file nor a folder');
    if (name !== undefined) start = await parent.enter(name);
    const { rules, path: rulesPath } = await startingRules(root, join(root, ...segments));
    yield* walkBatches(start, { rules, rulesPath, maxEntries, maxDepth, signal }, report);
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

// Without O_NONBLOCK, opening a FIFO blocks until a different process writes to it.
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** An open file of a walk. The caller must close it. */
export interface OpenedFile {
  readonly fd: number;
  close(): void | Promise<void>;
}

/**
 * Opens a file of a folder that cannot be replaced, and returns its descriptor. The caller must check that it is a regular file before it
 * uses the content. Returns undefined if the file cannot be opened.
 */
export function openUnchecked({ folder, name }: WalkedFile): number | undefined {
  try {
    return openSync(folder.pathOf(name), readFlags);
  } catch {
    return undefined;
  }
}

/** Opens a file. Returns undefined if it is not a regular file any more, or if it cannot be read. */
export function openWalkedFile(
  file: WalkedFile,
): OpenedFile | undefined | Promise<OpenedFile | undefined> {
  return file.folder.isHandle ? openNow(file) : openAndCheck(file);
}

/**
 * Opens a file of a folder that cannot be replaced. It blocks the worker thread. For a small file, this takes
 * a quarter of the time of an asynchronous call.
 */
function openNow(file: WalkedFile): OpenedFile | undefined {
  const fd = openUnchecked(file);
  if (fd === undefined) return undefined;
  if (fstatSync(fd).isFile()) return { fd, close: () => closeSync(fd) };
  closeSync(fd);
  return undefined;
}

async function openAndCheck({ folder, name }: WalkedFile): Promise<OpenedFile | undefined> {
  const handle = await open(folder.pathOf(name), readFlags).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    await folder.check(name, handle);
    if (fstatSync(handle.fd).isFile()) return { fd: handle.fd, close: () => handle.close() };
  } catch {
    // The file was moved while it was being opened.
  }
  await handle.close();
  return undefined;
}

type MatchPath = (path: string) => boolean;

/**
 * Returns a function that tests whether a path matches a glob. A glob without a slash matches the name in any
 * folder. A leading `!` negates the glob. A trailing slash matches everything in that folder.
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
