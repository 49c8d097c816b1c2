import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import { RepositorySearch } from '../git/repositories/repository-search.ts';
import { gitPlaces } from '../sandbox/git-places.ts';
import { followLinks, isBelow, realPathOf } from '../sandbox/protected-paths.ts';
import { protectedNames } from './protected-paths.ts';

/** Maximum number of workspaces for which the last search result is kept. */
const maxSearches = 8;
const searches = new Map<string, RepositorySearch>();

/**
 * Returns the segment of a path that makes git execute the file or read it as settings. It is the folder of
 * `core.hooksPath`, a repository with a name other than `.git`, or a file that settings include. The name
 * alone does not show this purpose. Both paths must be real paths.
 *
 * If not all repositories can be found, every file counts as such a file.
 */
export function nameThatGitObeys(root: string, path: string): string | undefined {
  try {
    const place = gitPlaces(root, searchOf(root)).guarded.find((one) =>
      [one, realPathOf(one)].some((at) => isAtOrBelow(at, path)),
    );
    return place && basename(place);
  } catch (error) {
    if (error instanceof SandboxError) return basename(path);
    throw error;
  }
}

/**
 * Returns the segment of a path that a protected name of the workspace leads to through a symbolic link. For
 * example, if `.vscode` is a link to `conf`, programs use `conf/tasks.json` as `.vscode/tasks.json`, and the
 * segment is `conf`. The sandbox follows these links too. Both paths must be real paths.
 */
export function linkedProtectedName(root: string, path: string): string | undefined {
  const found = namesIn(root);
  if (found.size === 0) return undefined;
  const targets = protectedNames(root).flatMap((name) => {
    const names = name.split('/');
    if (!found.has(names[0] ?? '')) return [];
    const { links, real } = followLinks(root, names);
    // The link itself has a protected name, but a link in the middle of a chain has none.
    return links.length === 0 ? [] : [real, ...links];
  });
  const place = targets.find((one) => isAtOrBelow(one, path));
  return place && basename(place);
}

function namesIn(folder: string): ReadonlySet<string> {
  try {
    return new Set(readdirSync(folder));
  } catch {
    return new Set();
  }
}

function searchOf(root: string): RepositorySearch {
  const known = searches.get(root) ?? new RepositorySearch();
  searches.delete(root);
  searches.set(root, known);
  const [oldest] = searches.keys();
  if (searches.size > maxSearches && oldest !== undefined) searches.delete(oldest);
  return known;
}

/**
 * True if a path is this place or is below it. Letter case is ignored, because some file systems ignore it.
 */
function isAtOrBelow(place: string, path: string): boolean {
  const [at, given] = [place.toLowerCase(), path.toLowerCase()];
  return at === given || isBelow(at, given);
}
