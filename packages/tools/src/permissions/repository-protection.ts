import { readdirSync } from 'node:fs';
import { basename, relative, sep } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import { completesBare } from '../git/repositories/read-folder.ts';
import { RepositorySearch } from '../git/repositories/repository-search.ts';
import { gitPlaces } from '../sandbox/places/git-places.ts';
import { foldName } from '../workspace/globs/folded-names.ts';
import { isInside } from '../workspace/match-path.ts';
import { followLinks, pathForms } from '../workspace/real-form.ts';
import { protectedNames } from './protected-paths.ts';

/** Maximum number of workspaces for which the last search result is kept. */
const maxSearches = 8;
const searches = new Map<string, RepositorySearch>();

/**
 * Returns the segment of a path that makes git execute the file or read it as settings. It is the folder of
 * `core.hooksPath`, a repository with a name other than `.git`, a file that settings include, or a folder that
 * a new file makes a repository. The name alone does not show this purpose. Both paths must be real paths.
 *
 * If not all repositories can be found, every file counts as such a file.
 */
export function nameThatGitObeys(root: string, path: string): string | undefined {
  try {
    const { guarded, programs } = gitPlaces(root, searchOf(root));
    const place = [...guarded, ...programs].find((one) =>
      pathForms(one).some((at) => isAtOrBelow(at, path)),
    );
    return place === undefined ? newRepositoryOf(root, path) : basename(place);
  } catch (error) {
    if (error instanceof SandboxError) return basename(path);
    throw error;
  }
}

/**
 * Returns the name of the folder that a new file makes a repository. Git then obeys the settings that are in
 * the folder already. A folder that cannot be listed counts as such a folder. Both paths must be real paths.
 */
export function newRepositoryOf(root: string, path: string): string | undefined {
  if (!isInside(root, path)) return undefined;
  try {
    return completesBare(root, relative(root, path).split(sep).join('/'));
  } catch {
    return basename(path);
  }
}

/**
 * Returns the segment of a path that makes git or another program execute the file or read it as settings,
 * although the name does not show it. Both paths must be real paths.
 */
export function obeyedNameOf(root: string, path: string): string | undefined {
  return nameThatGitObeys(root, path) ?? linkedProtectedName(root, path);
}

/**
 * Returns the text that a decision about a change of a file is about (`judged`). It is the real path. If git or
 * another program obeys the file now, the text says so, because a decision about an ordinary file does not cover
 * this. `obeyedName` is the result of `obeyedNameOf`.
 */
export function judgedText(path: string, obeyedName: string | undefined): string {
  return obeyedName === undefined ? path : `${protectedMark}${path}`;
}

/** No real path starts with this text, because real paths are absolute. */
const protectedMark = 'a protected file: ';

/** Returns the real path of a decision, and whether the decision covers a file that other programs obey. */
export function readJudged(judged: string): {
  readonly path: string;
  readonly coversProtected: boolean;
} {
  const coversProtected = judged.startsWith(protectedMark);
  return { path: coversProtected ? judged.slice(protectedMark.length) : judged, coversProtected };
}

/**
 * Returns the real path in the text of a decision (`judged`) of `approveByPolicy`. The text also says whether the
 * decision covers a protected file. The path is empty if the decision had none.
 *
 * @example judgedPath('a protected file: /srv/project/.git/config'); // '/srv/project/.git/config'
 */
export function judgedPath(judged: string): string {
  return readJudged(judged).path;
}

/**
 * Returns the segment of a path that a protected name of the workspace leads to through a symbolic link. For
 * example, if `.vscode` is a link to `conf`, programs use `conf/tasks.json` as `.vscode/tasks.json`, and the
 * segment is `conf`. The sandbox follows these links too. Both paths must be real paths.
 */
function linkedProtectedName(root: string, path: string): string | undefined {
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
 * True if a path is this place or is below it. The paths can have different spellings. See `foldName`.
 */
function isAtOrBelow(place: string, path: string): boolean {
  const [at, given] = [foldName(place), foldName(path)];
  return isInside(at, given);
}
