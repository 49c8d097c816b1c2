import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { alternativesOf, compileGlob } from './globs/compile-glob.ts';
import { isBelow } from './match-path.ts';
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

/**
 * Removes the parts of the path of a rule that have no effect, as in `src//a` and `src/./a`. The policy compares
 * paths without such parts. The result is `.` for the root.
 */
export function plainGlob(path: string): string {
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.length === 0) return path.startsWith('/') ? '/' : '.';
  // A rule for the name `~` begins with `./`.
  const [start = ''] = /^(?:\/|\.\/)/.exec(path) ?? [];
  return `${start}${names.join('/')}${path.endsWith('/') ? '/' : ''}`;
}

/** Escapes a path, so that a glob matches exactly this path. */
export function escapeGlob(path: string): string {
  return path.replace(/[\\*?[\]{}()!+@|"]/g, '\\$&');
}

/** The real paths that a glob of a rule matches through links. */
export interface LinkedGlobs {
  /** Absolute globs for the real paths. */
  readonly globs: readonly string[];
  /** The links in the root that lead to these paths. */
  readonly links: readonly string[];
  /** False if there are too many folders and links, so that the result may omit some of them. */
  readonly isComplete: boolean;
}

/**
 * Maximum number of folders and links that are compared with the wildcards of a glob. A name that is neither a
 * folder nor a link takes no time, so it does not count.
 */
const maxEntries = 10_000;
/** Maximum number of real paths of one glob. */
const maxGlobs = 1000;

/**
 * Returns absolute globs for the real paths of what a glob matches through links. The policy knows the real paths
 * of calls, and a user writes the names that they type. For example, the glob is `/tmp/notes/**`, and `/tmp`
 * is a link to `/private/tmp`. Relative globs start at the root. A glob without a slash matches names in any folder,
 * so the result is empty for it. Links that `**` matches are not followed.
 *
 * A command can change a link in the root. The result therefore keeps the real paths that earlier calls found
 * through such a link.
 *
 * @example linkedGlobs('/srv/project', '/tmp/notes/**').globs; // on macOS: ['/private/tmp/notes/**']
 */
export function linkedGlobs(root: string, glob: string, exact = false): LinkedGlobs {
  const found = followGlob(root, glob, exact);
  const key = JSON.stringify([root, glob, exact]);
  const before = kept.get(key);
  if (before === undefined && found.kept.size === 0) return found;
  const all = new Set([...(before ?? []), ...found.kept]);
  const isFull = all.size > maxGlobs;
  if (!isFull) keep(key, all);
  const globs = [...new Set([...found.globs, ...(before ?? [])])];
  return { globs, links: found.links, isComplete: found.isComplete && !isFull };
}

/** The real paths that were found through links in the root, by glob. */
const kept = new Map<string, ReadonlySet<string>>();
const maxKept = 10_000;

function keep(key: string, globs: ReadonlySet<string>): void {
  kept.delete(key);
  kept.set(key, globs);
  const [oldest] = kept.keys();
  if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
}

interface FollowedGlob extends LinkedGlobs {
  /** The globs that were found through a link in the root. */
  readonly kept: ReadonlySet<string>;
}

const nothing: FollowedGlob = { globs: [], links: [], isComplete: true, kept: new Set() };

/** A real folder, and how the walk has reached it. */
interface Reached {
  readonly folder: string;
  /** True if the walk has followed a link. */
  readonly isLinked: boolean;
  /** True if one of the links is in the root. */
  readonly isKept: boolean;
}

function followGlob(root: string, glob: string, exact: boolean): FollowedGlob {
  const pattern = (exact ? escapeGlob(glob) : glob).replace(/^(?:\.\/)+/, '').replace(/\/$/, '/**');
  if (!exact && !pattern.includes('/')) return nothing;
  const follow = pathFollower();
  const found = { globs: new Set<string>(), kept: new Set<string>(), links: new Set<string>() };
  const visited = new Set<string>();
  let entries = 0;
  const add = ({ folder, isKept }: Reached, rest: readonly string[]) => {
    const path = [escapeGlob(folder === '/' ? '' : folder), ...rest].join('/') || '/';
    found.globs.add(path);
    if (isKept) found.kept.add(path);
  };
  const enter = (at: Reached, name: string): Reached => {
    const next = join(at.folder, name);
    const { real, links } = follow(next);
    const own = links.filter((link) => isBelow(root, link));
    for (const link of own) found.links.add(link);
    return {
      folder: real,
      isLinked: at.isLinked || real !== next,
      isKept: at.isKept || own.length > 0,
    };
  };
  const visit = (at: Reached, rest: readonly string[]): void => {
    const [name, ...more] = rest;
    const literal = name === undefined ? undefined : literalName(name);
    if (literal !== undefined) return visit(enter(at, literal), more);
    if (at.isLinked) {
      // Links can form a loop.
      const place = JSON.stringify([at, rest]);
      if (visited.has(place)) return;
      visited.add(place);
      add(at, rest);
    }
    if (name === undefined || name === '**') return;
    const fits = compileGlob(name, { nocase: true });
    for (const entry of entriesOf(at.folder)) {
      const isLink = entry.isSymbolicLink();
      if (!isLink && (more.length === 0 || !entry.isDirectory())) continue;
      if (++entries > maxEntries) return;
      if (!fits(entry.name)) continue;
      const folder = join(at.folder, entry.name);
      visit(isLink ? enter(at, entry.name) : { ...at, folder }, more);
    }
  };
  for (const one of alternativesOf(pattern) ?? [pattern]) {
    const names = one.split('/').filter((name) => name !== '');
    const folder = one.startsWith('/') ? '/' : root;
    visit({ folder, isLinked: false, isKept: false }, names);
  }
  const isComplete = entries <= maxEntries && found.globs.size <= maxGlobs;
  const [globs, links] = [found.globs, found.links].map((all) => [...all].slice(0, maxGlobs));
  return { globs: globs ?? [], links: links ?? [], isComplete, kept: found.kept };
}

/** Returns the name that a part of a glob stands for. Undefined if the part has a wildcard or a group. */
function literalName(part: string): string | undefined {
  const plain = part.replace(/\\./g, '').replace(/(?<![@?*+!])\(([^()|]*)\)/g, '$1');
  return /[*?[\]{}()|\\]/.test(plain) ? undefined : part.replace(/\\(.)/g, '$1');
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
