import { isAbsolute, relative, resolve, sep } from 'node:path';
import { compileGlob } from './compile-glob.ts';

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
  const inside = relative(folder, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** True if a path is below a folder. False for the folder itself. */
export function isBelow(folder: string, path: string): boolean {
  return relative(folder, path) !== '' && isInside(folder, path);
}

interface MatchOptions {
  /** True if the glob is one path and not a pattern. Default: false. */
  readonly exact?: boolean | undefined;
  readonly isWide: boolean;
}

/**
 * Returns a function that tests whether a path matches. Rules that allow match narrowly: outside the root,
 * only an absolute glob matches. Rules that ask or deny match widely (`isWide`): they also match everything
 * below a match, names in any folder, and any letter case, because some file systems ignore case.
 */
export function pathMatcher(
  glob: string,
  { exact = false, isWide }: MatchOptions,
): (path: LexicalPath) => boolean {
  const pattern = glob.replace(/^(?:\.\/)+/, '').replace(/\/$/, '/**');
  const isAbsoluteGlob = glob.startsWith('/');
  const matchesNameOnly = !exact && !pattern.includes('/');
  const fits = exact ? equalTo(glob, isWide) : compileGlob(pattern, { nocase: isWide });
  return ({ shown, absolute, isInside }) => {
    const subject = isAbsoluteGlob ? absolute : shown;
    if (isWide) return candidates(subject, matchesNameOnly).some((path) => fits(path));
    return (isInside || isAbsoluteGlob) && fits(matchesNameOnly ? nameOf(subject) : subject);
  };
}

function equalTo(given: string, nocase: boolean): (path: string) => boolean {
  return nocase ? (path) => path.toLowerCase() === given.toLowerCase() : (path) => path === given;
}

/** Returns a path and its parent folders. With `ofName`, it returns only their names. */
function candidates(path: string, ofName: boolean): readonly string[] {
  const names = path.split('/');
  return ofName ? names : names.map((_, at) => names.slice(0, at + 1).join('/'));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
