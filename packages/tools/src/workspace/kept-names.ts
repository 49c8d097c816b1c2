import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

// Search workers import this file, so it must not import the agent package.

// Some file systems treat `K` as `k` and `ſ` as `s`. The ending must say that a program chose the name. A file of the user with the same ending counts as a copy too.
const kept = /\.bloc[k\u212a]ed-by-[s\u017f]andbox(-cut)?-[\w-]+(?=\/|$)/gi;

/** Minimum number of characters of a path with such a name. */
const minKept = '.blocked-by-sandbox-1'.length;

/** Maximum number of characters of a shortened name. A character has at most 4 bytes. */
const maxCut = 48;

/**
 * Returns the new names that the sandbox can give a file that it renames. The first name keeps the whole old name.
 * It can be too long for the file system. The second name keeps only the start.
 *
 * @example keptNames('.npmrc')[0]; // '.npmrc.blocked-by-sandbox-5d2a…'
 */
export function keptNames(name: string): readonly [whole: string, cut: string] {
  const id = randomUUID();
  const start = [...name].slice(0, maxCut).join('');
  return [`${name}.blocked-by-sandbox-${id}`, `${start}.blocked-by-sandbox-cut-${id}`];
}

/** Renames a file, and returns its new path. Returns undefined if the file cannot be renamed. */
export function moveAway(path: string): string | undefined {
  for (const name of keptNames(basename(path)))
    try {
      const away = join(dirname(path), name);
      renameSync(path, away);
      return away;
    } catch {
      // The name can be too long. The next name is shorter.
    }
  return undefined;
}

/** True if a path is the name of a renamed file. */
export function isKeptName(name: string): boolean {
  // A search calls this function for each name, and most names are short.
  return name.length >= minKept && name.search(kept) !== -1;
}

/**
 * True if a path contains a shortened name of a renamed file. Its old name is unknown, so it can be any name.
 */
export function isCutName(path: string): boolean {
  return [...path.matchAll(kept)].some(([, cut]) => cut !== undefined);
}

/**
 * Returns the path with the old names of renamed files. Rules and lists of names must treat the renamed file like
 * the old one, because it has the same content.
 */
export function withOldNames(path: string): string {
  return path.replace(kept, '');
}
