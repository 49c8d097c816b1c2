import { basename } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import { RepositorySearch } from '../git/repositories/repository-search.ts';
import { gitPlaces } from '../sandbox/git-places.ts';
import { isBelow, realPathOf } from '../sandbox/protected-paths.ts';

/** Maximum number of workspaces whose folders are known from an earlier search. */
const maxSearches = 8;
const searches = new Map<string, RepositorySearch>();

/**
 * Returns the name on a path that makes git run or obey the file, if there is one: the folder of
 * `core.hooksPath`, a repository with another name than `.git`, or a file that settings include. The
 * names of such places do not tell what they are for. Both paths must be real.
 *
 * If not all repositories can be found, each file counts as one that git obeys.
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

function searchOf(root: string): RepositorySearch {
  const known = searches.get(root) ?? new RepositorySearch();
  searches.delete(root);
  searches.set(root, known);
  const [oldest] = searches.keys();
  if (searches.size > maxSearches && oldest !== undefined) searches.delete(oldest);
  return known;
}

/** Some file systems ignore letter case. */
function isAtOrBelow(place: string, path: string): boolean {
  const [at, given] = [place.toLowerCase(), path.toLowerCase()];
  return at === given || isBelow(at, given);
}
