import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compileGlob } from './compile-glob.ts';
import { pathFollower } from './real-form.ts';

/** The beginning of a glob without wildcards, and the rest. */
export interface SplitGlob {
  /** The folders before the first wildcard, without escapes. It starts with `/` if the glob does. */
  readonly base: string;
  /** The other names as a glob. Empty if the glob has no wildcards. */
  readonly rest: string;
}

/** Splits a glob before its first wildcard. */
export function splitGlob(glob: string): SplitGlob {
  const names = glob.split('/');
  const count = names.findIndex((name) => literalName(name) === undefined);
  const known = count < 0 ? names : names.slice(0, count);
  const base = known.map(literalName).join('/');
  const rest = count < 0 ? '' : names.slice(count).join('/');
  return { base: glob.startsWith('/') && base === '' ? '/' : base, rest };
}

/** Escapes a path, so that a glob matches exactly this path. */
export function escapeGlob(path: string): string {
  return path.replace(/[\\*?[\]{}()!+@]/g, '\\$&');
}

/** Maximum number of entries of folders that are compared with the wildcards of a glob. */
const maxEntries = 2000;

/**
 * Returns absolute globs for the real paths of what a glob matches through links. The policy knows the real paths
 * of calls, and a user writes the names that they type. For example, the glob is `/tmp/notes/**`, and `/tmp`
 * is a link to `/private/tmp`. Relative globs start at the root. A glob without a slash matches names in any folder,
 * so the result is empty for it. Links that `**` matches are not followed.
 *
 * @example realGlobs('/srv/project', '/tmp/notes/**'); // on macOS: ['/private/tmp/notes/**']
 */
export function realGlobs(root: string, glob: string, exact = false): readonly string[] {
  const pattern = (exact ? escapeGlob(glob) : glob).replace(/^(?:\.\/)+/, '').replace(/\/$/, '/**');
  if (!exact && !pattern.includes('/')) return [];
  const follow = pathFollower();
  const found = new Set<string>();
  let entries = 0;
  const add = (folder: string, rest: readonly string[]) =>
    found.add([escapeGlob(folder === '/' ? '' : folder), ...rest].join('/') || '/');
  const visit = (folder: string, rest: readonly string[], isLinked: boolean): void => {
    const [name, ...more] = rest;
    const literal = name === undefined ? undefined : literalName(name);
    if (literal !== undefined) {
      const next = join(folder, literal);
      const { real } = follow(next);
      return visit(real, more, isLinked || real !== next);
    }
    if (isLinked) add(folder, rest);
    if (name === undefined || !isWildcard(name)) return;
    const fits = compileGlob(name, { nocase: true });
    for (const entry of entriesOf(folder)) {
      if (++entries > maxEntries) return;
      if (!fits(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isSymbolicLink()) visit(follow(path).real, more, true);
      else if (entry.isDirectory() && more.length > 0) visit(path, more, false);
    }
  };
  const names = pattern.split('/').filter((name) => name !== '');
  visit(pattern.startsWith('/') ? '/' : root, names, false);
  return [...found];
}

/** Returns the name that a part of a glob stands for. Undefined if the part has a wildcard or a group. */
function literalName(part: string): string | undefined {
  const plain = part.replace(/\\./g, '').replace(/(?<![@?*+!])\(([^()|]*)\)/g, '$1');
  return /[*?[\]{}()|\\]/.test(plain) ? undefined : part.replace(/\\(.)/g, '$1');
}

/** True if a part of a glob matches one name. A group can contain slashes, and `**` matches any folders. */
function isWildcard(part: string): boolean {
  return part !== '**' && !/[{}()|\\]/.test(part);
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
