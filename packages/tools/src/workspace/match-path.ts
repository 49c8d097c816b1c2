import { isAbsolute, relative, resolve, sep } from 'node:path';
import {
  compileAnySpelling,
  compileGlob,
  isExactExclusion,
  orFolded,
} from './globs/compile-glob.ts';
import { foldName, isAscii } from './globs/folded-names.ts';
import { hasGroupWithSlash } from './globs/translate-glob.ts';
import { isCutName, isKeptName, withOldNames } from './kept-names.ts';

// Search workers import this file, so it must not import the agent package.

/** A path that was resolved by its text alone. Symbolic links are not followed. */
export interface LexicalPath {
  /**
   * The path relative to the root, with `/` as separator. It is `.` for the root, and an absolute path
   * outside the root.
   */
  readonly shown: string;
  readonly absolute: string;
  readonly isInside: boolean;
}

/** Resolves a path by its text alone. */
export function lexicalPath(root: string, given: string): LexicalPath {
  const absolute = resolve(root, given);
  const inside = isInside(root, absolute);
  const shown = inside ? relative(root, absolute).split(sep).join('/') || '.' : absolute;
  return { shown, absolute, isInside: inside };
}

/** True if a path is a folder or below it. The function compares the texts and does not follow links. */
export function isInside(folder: string, path: string): boolean {
  // `relative` is slow, and most paths are already in the form that `resolve` returns.
  if (isResolved(folder) && isResolved(path))
    return (
      path.startsWith(folder) && (path.length === folder.length || path[folder.length] === '/')
    );
  const inside = relative(folder, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** True if a path is below a folder. False for the folder itself. */
export function isBelow(folder: string, path: string): boolean {
  if (isResolved(folder) && isResolved(path))
    return path.startsWith(folder) && path[folder.length] === '/';
  return relative(folder, path) !== '' && isInside(folder, path);
}

/** True for an absolute path without `.`, `..` and empty names. The root of the disk is an exception. */
function isResolved(path: string): boolean {
  return sep === '/' && path.startsWith('/') && !unresolved.test(path);
}

const unresolved = /\/(?:\.{0,2})(?:\/|$)/;

interface MatchOptions {
  /** True if the glob is one path and not a pattern. Default: false. */
  readonly exact?: boolean | undefined;
  readonly isWide: boolean;
}

/**
 * Returns a function that tests whether a path matches. Rules that allow match narrowly: outside the root,
 * only an absolute glob matches. Rules that ask or deny match widely (`isWide`): they also match everything
 * below a match, names in any folder, and any spelling that a file system can treat as the same name (`foldName`).
 * They also match a file that the sandbox renamed, if its old name matches.
 */
export function pathMatcher(
  glob: string,
  { exact = false, isWide }: MatchOptions,
): (path: LexicalPath) => boolean {
  const pattern = plainPattern(glob);
  const isAbsoluteGlob = glob.startsWith('/');
  if (isWide) {
    const fits = exact ? startsWithPath(glob) : compileWideGlob(pattern);
    return ({ shown, absolute }) => {
      const path = isAbsoluteGlob ? absolute : shown;
      if (fits(path)) return true;
      return isKeptName(path) && (isCutName(path) || fits(withOldNames(path)));
    };
  }
  const matchesNameOnly = !exact && !pattern.includes('/');
  const fits = exact ? (path: string) => path === glob : compileGlob(pattern);
  return ({ shown, absolute, isInside }) => {
    const subject = isAbsoluteGlob ? absolute : shown;
    // No file has such a path, and a match of a glob takes more than linear time.
    if (subject.length > maxPath || !(isInside || isAbsoluteGlob)) return false;
    return fits(matchesNameOnly ? nameOf(subject) : subject);
  };
}

function plainPattern(glob: string): string {
  return glob.replace(/^(?:\.\/)+/, '').replace(/\/$/, '/**');
}

/** Maximum number of characters of a path in Linux. Other systems have lower limits. */
const maxPath = 4096;

/** Returns a function that tests whether a path is a given path or below it, in any spelling. */
function startsWithPath(given: string): (path: string) => boolean {
  const start = foldName(given);
  return (path) => {
    const subject = foldName(path);
    return subject === start || subject.startsWith(`${start}/`);
  };
}

/**
 * Returns a function that tests whether a path or one of its parent folders matches a glob, in any spelling. A
 * glob without a slash matches the name. The path comes from a model and the glob can come from a project, so
 * the time is linear in the length of the path.
 */
function compileWideGlob(glob: string): (path: string) => boolean {
  const parts = partsOf(glob);
  if (parts === undefined) return matchPrefixes(glob);
  return (path) => startedParts(parts, path) === 'whole';
}

/** A part of a glob: a test of one name, or `**`. The caller must also test the folded form of a name. */
type GlobPart = '**' | ((name: string) => boolean);

/** Returns the parts of a wide glob. Undefined if they cannot be compared with names one by one. */
function partsOf(glob: string): readonly GlobPart[] | undefined {
  const isName = !glob.includes('/');
  if (!isName && hasGroupWithSlash(glob)) return undefined;
  const parts = glob.split('/').map((part) => (part === '**' ? part : fitsName(part)));
  // A glob without text matches everything, as `**` does.
  if (isName && glob !== '**') parts.splice(0, glob === '' ? 1 : 0, '**');
  return parts;
}

/**
 * Compares the names of a path with the parts. Returns the numbers of parts that match the names. Returns `whole` if
 * all parts match these names or the first of them.
 */
function startedParts(parts: readonly GlobPart[], path: string): readonly number[] | 'whole' {
  const isFolded = isAscii(path);
  let matched = skipGlobstars(parts, [0]);
  for (const name of path.split('/')) {
    const next = matched.flatMap((at) => {
      const part = parts[at];
      if (part === undefined) return [];
      if (part === '**') return name === '.' ? [] : [at];
      return part(name) || (!isFolded && part(foldName(name))) ? [at + 1] : [];
    });
    matched = skipGlobstars(parts, next);
    if (matched.includes(parts.length)) return 'whole';
    if (matched.length === 0) return [];
  }
  return matched;
}

/** Tests a name. */
export type NameTest = (name: string) => boolean;

/**
 * Returns a function that prepares the test of the names in a folder. A glob matches a name if one of the tests does,
 * as `pathMatcher` with `isWide` would match its path. Pass the tests to `anyTest`, because they know neither the files
 * that the sandbox renamed nor other spellings of a name. A folder can have many entries, and each part of the glob is compared only once with the
 * folder.
 */
export function entryMatcher(
  glob: string,
  { exact = false }: Pick<MatchOptions, 'exact'> = {},
): (folder: LexicalPath) => readonly NameTest[] {
  const parts = exact ? undefined : partsOf(plainPattern(glob));
  const matches = pathMatcher(glob, { exact, isWide: true });
  const isAbsoluteGlob = glob.startsWith('/');
  return (folder) => {
    if (parts === undefined) return [(name) => matches(entryPath(folder, name))];
    const { shown, absolute } = folder;
    const path = isAbsoluteGlob ? absolute.replace(/\/$/, '') : shown;
    const started = path === '.' ? skipGlobstars(parts, [0]) : startedParts(parts, path);
    if (started === 'whole') return [() => true];
    const isEnd = (at: number) => parts.slice(at).every((part) => part === '**');
    return started.flatMap((at): readonly NameTest[] => {
      const part = parts[at];
      if (part === '**') return isEnd(at) ? [() => true] : [];
      return part !== undefined && isEnd(at + 1) ? [part] : [];
    });
  };
}

/** Returns one test of the names in a folder. `matches` tests the path of a file that the sandbox renamed. */
export function anyTest(
  folder: LexicalPath,
  tests: readonly NameTest[],
  matches: (path: LexicalPath) => boolean,
): NameTest {
  const isKeptFolder = isKeptName(folder.absolute);
  const isMatch = orFolded((name) => tests.some((test) => test(name)));
  return (name) =>
    isKeptFolder || isKeptName(name) ? matches(entryPath(folder, name)) : isMatch(name);
}

function entryPath({ shown, absolute, isInside }: LexicalPath, name: string): LexicalPath {
  return {
    shown: shown === '.' ? name : `${shown === '/' ? '' : shown}/${name}`,
    absolute: `${absolute === '/' ? '' : absolute}/${name}`,
    isInside,
  };
}

/** Adds the numbers that follow if `**` matches no name. */
function skipGlobstars(parts: readonly unknown[], matched: readonly number[]): readonly number[] {
  const all = new Set<number>();
  for (let at of matched) {
    all.add(at);
    while (parts[at] === '**') all.add(++at);
  }
  return [...all];
}

/** Maximum number of characters of a name in the common file systems. */
const maxName = 255;

function fitsName(part: string): (name: string) => boolean {
  const fits = part === '' ? (name: string) => name === '' : compileAnySpelling(part);
  // Most names have a different length than a part without wildcards. This check is fast.
  if (/^[\w. -]+$/.test(part)) return (name) => name.length === part.length && fits(name);
  return (name) => name.length <= maxName && fits(name);
}

/** True if a rule that asks or denies covers all paths that its groups such as `!(a)` do not exclude. */
export function hasExactExclusions(glob: string): boolean {
  return (
    !glob.includes('!(') || (!hasGroupWithSlash(glob) && glob.split('/').every(isExactExclusion))
  );
}

/** Tests each parent folder of a path against a glob whose groups contain slashes. */
function matchPrefixes(glob: string): (path: string) => boolean {
  const fits = orFolded(compileAnySpelling(glob));
  return (path) => {
    // No file has such a path. The rule asks or denies, so a match is safe.
    if (path.length > maxPath) return true;
    const names = path.split('/');
    return names.some((_, at) => fits(names.slice(0, at + 1).join('/')));
  };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
