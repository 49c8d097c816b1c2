import { lstat, readlink } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { errorCodeOf, fromSystemError, WorkspaceError } from '../contract/workspace-error.ts';
import { writeProtection } from '../permissions/protected-paths.ts';
import {
  nameThatGitObeys,
  newRepositoryOf,
  obeyedNameOf,
  readJudged,
} from '../permissions/repository-protection.ts';
import { isInside } from './match-path.ts';

/**
 * A path that was resolved at the time of the call. Functions that open it go through `segments` and follow
 * no links.
 */
export interface ResolvedPath {
  /** The path as the caller passed it. */
  readonly given: string;
  /** The real path. */
  readonly real: string;
  /** The segments of the real path below the root. Empty for the root. */
  readonly segments: readonly string[];
  /** The real path relative to the root, with `/` as separator. It is `.` for the root. */
  readonly shown: string;
  readonly exists: boolean;
  /** True if the given path goes through a symbolic link and therefore differs from the real path. */
  readonly isLinked: boolean;
  /**
   * The target as the link stores it. It is set only with `keepsLink`, and only if the path itself is a
   * symbolic link.
   */
  readonly linkTarget?: string | undefined;
}

/** Options of `Workspace.resolve`. */
export interface ResolveOptions {
  /**
   * True if a symbolic link resolves to itself and not to its target. Links in the parent folders are always
   * followed. Default: false.
   */
  readonly keepsLink?: boolean | undefined;
}

export function segmentAt({ segments }: ResolvedPath, index: number): string {
  return segments[index] ?? '.';
}

const maxPathLength = 4096;
const maxLinks = 40;
/** Maximum depth of folders. A write keeps all folders of the path open. */
const maxDepth = 200;

/**
 * Resolves a path from a model. `root` must be a real path. The target does not have to exist. Throws if the
 * path leads outside the root.
 */
export async function resolvePath(
  root: string,
  given: string,
  options?: ResolveOptions,
): Promise<ResolvedPath> {
  const { real, exists, linkTarget } = await realPathOf(root, given, options);
  if (!isInside(root, real)) throw outsideError(root, given);
  const inside = relative(root, real);
  const segments = inside === '' ? [] : inside.split(sep);
  if (segments.length > maxDepth)
    throw new WorkspaceError('bad_path', given, `it goes through more than ${maxDepth} folders`);
  const isLinked = real !== resolve(root, given);
  const shown = segments.join('/') || '.';
  const place = { given, real, segments, shown, exists, isLinked };
  return linkTarget === undefined ? place : { ...place, linkTarget };
}

/**
 * Returns the error for a write through a link to a file that can run code, such as `.git/config`. Returns
 * undefined if the write is allowed. The user who approves a write sees only the given path, so the call must
 * contain the real path of such a file.
 */
export function protectedLinkError(place: ResolvedPath): WorkspaceError | undefined {
  const { given, real, segments, shown, isLinked } = place;
  if (!isLinked) return undefined;
  const root = resolve(real, ...segments.map(() => '..'));
  if (writeProtection(shown) === undefined && nameThatGitObeys(root, real) === undefined)
    return undefined;
  const target = displayOnOneLine(shown);
  const state = `it leads through a symbolic link to ${target}, which can make another program run code. To write that file, give the path ${target}`;
  return new WorkspaceError('protected_link', given, state);
}

/**
 * Throws if the path leads to a different real path than when the call was checked (`judged`). The functions
 * that open a path follow no links, so they open exactly the checked file. Check every path of a call before
 * it is opened. `judged` is undefined if the path was not checked.
 */
export function assertJudged({ given, real }: ResolvedPath, judged: string | undefined): void {
  if (judged === undefined) return;
  const { path } = readJudged(judged);
  if (real === path) return;
  const was = path === '' ? 'led nowhere' : `led to ${displayOnOneLine(path)}`;
  const state = `it ${was} when the call was allowed, and now it leads to ${displayOnOneLine(real)}. Nothing was done. Make the call again`;
  throw new WorkspaceError('changed', given, state);
}

/**
 * Throws if git or another program obeys the file now, unless the decision about the call (`judged`) was about
 * such a file. Call it immediately before the change on disk. Several calls can be decided before the first of
 * them runs, and a command can run in the meantime. Each of them may create one of the files that together make
 * a repository.
 */
export function assertProtectionJudged(
  root: string,
  { given, real }: ResolvedPath,
  judged: string | undefined,
): void {
  if (judged === undefined || readJudged(judged).coversProtected) return;
  const name = obeyedNameOf(root, real);
  if (name === undefined) return;
  const folder = newRepositoryOf(root, real);
  const now =
    folder === undefined
      ? `git or another program now obeys ${displayOnOneLine(name)}, and can run programs from it`
      : `it would now make the folder ${displayOnOneLine(folder)} a git repository, and git can run programs from the settings there`;
  throw new WorkspaceError('changed', given, `${now}. Nothing was done. Make the call again`);
}

function invalidPathReason(given: string): string | undefined {
  if (given === '') return 'the path is empty';
  if (given.includes('\0')) return 'it contains a NUL character';
  // The file system would replace the lone surrogate, and two different names could become the same.
  if (!given.isWellFormed()) return 'it contains half of a character (a lone surrogate)';
  if (given.length > maxPathLength) return `it is longer than ${maxPathLength} characters`;
  return undefined;
}

/** A real path, which may be outside the workspace. */
type RealPath = Pick<ResolvedPath, 'real' | 'exists' | 'linkTarget'>;

/**
 * Resolves a path in the same way as the kernel, segment by segment. `..` is the parent of the folder that
 * was reached, so `link/../a` is next to the target of the link. `root` must be a real path. Missing segments
 * are kept, but `..` cannot follow them. The result may be outside the root. Throws the code `outside` if the path
 * depends on the process that uses it.
 */
export async function realPathOf(
  root: string,
  given: string,
  { keepsLink = false }: ResolveOptions = {},
): Promise<RealPath> {
  const problem = invalidPathReason(given);
  if (problem !== undefined) throw new WorkspaceError('bad_path', given, problem);
  const rest = given.split('/').toReversed();
  let here: Place = { real: isAbsolute(given) ? '/' : root, kind: 'folder' };
  for (let links = 0, segment = rest.pop(); segment !== undefined; segment = rest.pop()) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') {
      if (here.kind !== 'folder') throw noFolderError(given, here);
      here = { real: dirname(here.real), kind: 'folder' };
      continue;
    }
    const next = join(here.real, segment);
    if (isOwnProcess(next)) throw processPathError(given);
    // A path below a missing folder or below a file cannot be a link.
    const found = here.kind === 'folder' ? await placeAt(given, next) : 'missing';
    if (typeof found === 'string') {
      here = { real: next, kind: found };
      continue;
    }
    if (keepsLink && rest.length === 0)
      return { real: next, exists: true, linkTarget: found.target };
    if (++links > maxLinks) throw linkLoopError(given);
    rest.push(...found.target.split('/').toReversed());
    if (rest.length > maxPathLength) throw linkLoopError(given);
    if (isAbsolute(found.target)) here = { real: '/', kind: 'folder' };
  }
  return { real: here.real, exists: here.kind !== 'missing' };
}

interface Place {
  readonly real: string;
  readonly kind: 'folder' | 'file' | 'missing';
}

/**
 * Returns the kind of a path, or the target of a link. An unreadable path counts as `missing`, because its
 * parent already shows whether it is inside the root.
 */
async function placeAt(
  given: string,
  path: string,
): Promise<Place['kind'] | { readonly target: string }> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) return { target: await readlink(path) };
    return stats.isDirectory() ? 'folder' : 'file';
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ENAMETOOLONG'].includes(errorCodeOf(error)))
      return 'missing';
    throw fromSystemError(given, error);
  }
}

/**
 * True for the folder of this process in `/proc`. Its links, such as `cwd`, lead elsewhere for the program that uses
 * the path. `/dev/fd` and `/dev/stdin` are links to this folder.
 */
function isOwnProcess(path: string): boolean {
  return /^\/proc\/(?:self|thread-self|curproc)$/.test(path) || path === `/proc/${process.pid}`;
}

function processPathError(given: string): WorkspaceError {
  const state =
    'it leads through the folder of a process in /proc, so each program gets another file';
  return new WorkspaceError('outside', given, state);
}

function noFolderError(given: string, { real, kind }: Place): WorkspaceError {
  if (kind === 'file')
    return new WorkspaceError('not_a_folder', given, `${basename(real)} is a file, not a folder`);
  const state = `the folder ${basename(real)} before ".." does not exist. Give the path without it`;
  return new WorkspaceError('not_found', given, state);
}

function linkLoopError(given: string): WorkspaceError {
  return new WorkspaceError('bad_path', given, 'its symbolic links form a loop');
}

function outsideError(root: string, given: string): WorkspaceError {
  const isPlain = !isInside(root, resolve(root, given));
  const how = isPlain ? 'it is' : 'it leads through a symbolic link';
  const state = `${how} outside the workspace ${root}. Give a path inside, relative or absolute`;
  return new WorkspaceError('outside', given, state);
}

/** Returns a path as text on one line. Control characters are escaped. */
export function displayOnOneLine(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to show as escapes
  return /[\u0000-\u001f\u007f]/.test(path) ? JSON.stringify(path) : path;
}
