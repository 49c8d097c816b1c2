import { isAbsolute, relative, resolve, sep } from 'node:path';
import { compileGlob } from '../workspace/compile-glob.ts';
import type { Decision } from './permission-rule.ts';

/** Where a path is, by its text alone. */
export interface PlacedPath {
  /** From the root on with `/`, '.' for the root, or absolute where it is outside. */
  readonly shown: string;
  readonly absolute: string;
  readonly isInside: boolean;
}

export function placePath(root: string, given: string): PlacedPath {
  const absolute = resolve(root, given);
  const inside = relative(root, absolute);
  const isInside = inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
  const shown = isInside ? inside.split(sep).join('/') || '.' : absolute;
  return { shown, absolute, isInside };
}

interface PathRule {
  readonly exact?: boolean | undefined;
  readonly decision: Decision;
}

/**
 * Whether a path fits. What allows is read narrowly: outside the root only an absolute glob allows. What
 * does not is read widely: with all that is below what fits, by name anywhere, and in any case of
 * letters, because on some file systems that is the same file.
 */
export function pathMatcher(
  glob: string,
  { exact = false, decision }: PathRule,
): (path: PlacedPath) => boolean {
  const pattern = glob.replace(/^(?:\.\/)+/, '').replace(/\/$/, '/**');
  const isWide = decision !== 'allow';
  const isAnywhere = glob.startsWith('/');
  const ofName = !exact && !pattern.includes('/');
  const fits = exact ? same(glob, isWide) : compileGlob(pattern, { nocase: isWide });
  return ({ shown, absolute, isInside }) => {
    const subject = isAnywhere ? absolute : shown;
    if (isWide) return candidates(subject, ofName).some((path) => fits(path));
    return (isInside || isAnywhere) && fits(ofName ? nameOf(subject) : subject);
  };
}

function same(given: string, nocase: boolean): (path: string) => boolean {
  return nocase ? (path) => path.toLowerCase() === given.toLowerCase() : (path) => path === given;
}

/** A path and the folders it is in, or their names alone. */
function candidates(path: string, ofName: boolean): readonly string[] {
  const names = path.split('/');
  return ofName ? names : names.map((_, at) => names.slice(0, at + 1).join('/'));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
