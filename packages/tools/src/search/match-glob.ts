import { compileGlob } from '../workspace/compile-glob.ts';

export type MatchPath = (path: string) => boolean;

/**
 * Whether a path fits a glob. One without a slash is about the name alone, at any depth; `!` in front
 * turns it round; a slash at the end means all that is in there.
 */
export function globMatcher(glob: string): MatchPath {
  const isNegative = glob.startsWith('!');
  const pattern = (isNegative ? glob.slice(1) : glob).replace(/^(?:\.\/)+/, '');
  const whole = pattern.endsWith('/') ? `${pattern}**` : pattern;
  const isMatch = compileGlob(whole);
  const ofName = !whole.includes('/');
  return (path) => isMatch(ofName ? nameOf(path) : path) !== isNegative;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
