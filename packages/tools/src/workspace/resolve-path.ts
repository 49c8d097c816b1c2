import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { errorCodeOf, fromSystemError, WorkspaceError } from '../contract/workspace-error.ts';

/**
 * A resolved path at the time of the call. Functions that open it walk `segments` and follow no
 * links.
 */
export interface ResolvedPath {
  /** The path as the caller gave it. */
  readonly given: string;
  /** The real path. */
  readonly real: string;
  /** The segments of the real path below the root. Empty for the root. */
  readonly segments: readonly string[];
  /** The real path relative to the root, with `/`. `.` for the root. */
  readonly shown: string;
  readonly exists: boolean;
}

export function segmentAt({ segments }: ResolvedPath, index: number): string {
  return segments[index] ?? '.';
}

const maxPathLength = 4096;
const maxLinks = 40;
/** Maximum depth of folders. A write keeps all folders of the path open. */
const maxDepth = 200;

/** Resolves a path from a model. `root` must be a real path. The target need not exist. */
export async function resolvePath(root: string, given: string): Promise<ResolvedPath> {
  const lexical = resolve(root, given);
  const problem = invalidPathReason(given, relative(root, lexical));
  if (problem !== undefined) throw new WorkspaceError('bad_path', given, problem);
  const { real, exists } = await realPathOf(given, lexical, 0);
  const inside = relative(root, real);
  if (isOutside(inside)) throw outsideError(root, given, isOutside(relative(root, lexical)));
  const segments = inside === '' ? [] : inside.split(sep);
  return { given, real, segments, shown: segments.join('/') || '.', exists };
}

function invalidPathReason(given: string, inside: string): string | undefined {
  if (given === '') return 'the path is empty';
  if (given.includes('\0')) return 'it contains a NUL character';
  // The file system would store another name, and different names could become the same.
  if (!given.isWellFormed()) return 'it contains half of a character (a lone surrogate)';
  if (given.length > maxPathLength) return `it is longer than ${maxPathLength} characters`;
  if (inside.split(sep).length > maxDepth) return `it goes through more than ${maxDepth} folders`;
  return undefined;
}

function isOutside(inside: string): boolean {
  return inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
}

interface RealPath {
  readonly real: string;
  readonly exists: boolean;
}

/** Returns the real path. For a missing path, resolves its nearest existing parent. */
async function realPathOf(given: string, path: string, links: number): Promise<RealPath> {
  const real = await realPathIfExists(given, path);
  if (real !== undefined) return { real, exists: true };
  const parent = dirname(path);
  if (parent === path) return { real: path, exists: false };
  const { real: realParent } = await realPathOf(given, parent, links);
  const here = join(realParent, basename(path));
  const target = await readlink(here).catch(() => undefined);
  if (target === undefined) return { real: here, exists: false };
  // A link to a missing target still counts, because a write would create the target.
  if (links >= maxLinks) throw linkLoopError(given);
  return realPathOf(given, resolve(realParent, target), links + 1);
}

/**
 * Returns undefined for unreadable paths too. Whether they are inside is decided by their parent.
 */
async function realPathIfExists(given: string, path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ENAMETOOLONG'].includes(errorCodeOf(error)))
      return undefined;
    throw fromSystemError(given, error);
  }
}

function linkLoopError(given: string): WorkspaceError {
  return new WorkspaceError('bad_path', given, 'its symbolic links form a loop');
}

function outsideError(root: string, given: string, isPlain: boolean): WorkspaceError {
  const how = isPlain ? 'it is' : 'it leads through a symbolic link';
  const state = `${how} outside the workspace ${root}. Give a path inside, relative or absolute`;
  return new WorkspaceError('outside', given, state);
}

/** Returns a path that fits on one line. Control characters are escaped. */
export function displayOnOneLine(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to show as escapes
  return /[\u0000-\u001f\u007f]/.test(path) ? JSON.stringify(path) : path;
}
