import * as modules from 'node:module';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, sep } from 'node:path';
import { homeFolders } from '../sandbox/places/agent-places.ts';
import { keyPlaces } from '../sandbox/places/key-places.ts';
import { foldName } from '../workspace/globs/folded-names.ts';
import type { LexicalPath } from '../workspace/match-path.ts';
import { pathForms } from '../workspace/real-form.ts';
import { type Protection, readProtection, secretNamesIn } from './protected-paths.ts';

/**
 * Returns the reason why reading a path needs an approval, because of its name or its location. All code that
 * reads files must use this function. Otherwise one tool could show a file for which a second tool must ask.
 */
export function secretProtection(path: LexicalPath): Protection | undefined {
  return readProtection(path.shown) ?? homeProtection(path, 'read');
}

/**
 * Returns a function that tests the files of one folder. It has the same result as `secretProtection` for the
 * path of each file. A search of many files is faster with it, because it examines the folder only once.
 */
export function secretsInFolder(folder: LexicalPath): (name: string) => boolean {
  if (homeProtection(folder, 'read') !== undefined) return () => true;
  const isSecret = secretNamesIn(folder.shown === '.' ? '' : folder.shown);
  const names = currentPlaces().keyNames.get(foldName(folder.absolute));
  if (names === undefined) return isSecret;
  return (name) => isSecret(name) || names.has(foldName(name));
}

/**
 * Returns the reason why a path of the home folder or the system needs an approval. This matters if the
 * workspace contains the home folder. The sandbox hides and protects these locations, so the other tools must
 * not reach them either. If the workspace itself is inside such a location, its files are not protected. The
 * folders of the terminal agent are always protected, because the agent runs the hooks and extensions in them.
 */
export function homeProtection(path: LexicalPath, use: 'read' | 'write'): Protection | undefined {
  const { keys, startUp, secret, executed } = currentPlaces();
  const given = foldName(path.absolute);
  const isIn = (place: string) => given === place || given.startsWith(`${place}${sep}`);
  if (secret.some(isIn))
    return { segment: 'millrace', why: use === 'write' ? 'runs_code' : 'secret' };
  if (use === 'write' && executed.some(isIn))
    return { segment: basename(path.absolute), why: 'runs_code' };
  for (const place of placesAbove(path)) {
    const segment = basename(place);
    if (use === 'write' && startUp.has(place)) return { segment, why: 'runs_code' };
    if (keys.has(place)) return { segment, why: 'secret' };
  }
  return undefined;
}

/** Returns the path and its parent folders up to the workspace, as `foldName` returns them. */
function placesAbove({ absolute, shown, isInside }: LexicalPath): readonly string[] {
  const isRoot = shown === '' || shown === '.';
  const count = isInside ? (isRoot ? 0 : shown.split('/').length) : absolute.split('/').length;
  const places: string[] = [];
  for (let place = foldName(absolute); places.length < count; place = dirname(place))
    places.push(place);
  return places;
}

/**
 * System folders that never contain project files. They matter if the workspace contains them, for example if
 * it is `/`. They contain the environment of processes, which includes keys, the secrets of a container, and
 * devices.
 */
const systemPlaces: readonly string[] = ['/proc', '/run', '/var/run', '/dev'];

/**
 * Returns the folders with compiled code that this program or the terminal agent loads at its next start. The
 * sandbox protects them too.
 */
function compiledPlaces(env: Env): readonly string[] {
  const { XDG_CACHE_HOME = '' } = env;
  const caches = isAbsolute(XDG_CACHE_HOME)
    ? [XDG_CACHE_HOME]
    : homeFolders(env).map((home) => `${home}/.cache`);
  // Runtimes other than Node.js do not have this function.
  const own = modules.getCompileCacheDir?.() ?? '';
  return [own, ...caches.map((folder) => `${folder}/millrace`)].filter(isAbsolute);
}

type Env = Readonly<Record<string, string | undefined>>;

interface Places {
  readonly homes: string;
  /** The time at which the places were computed, in milliseconds. */
  readonly at: number;
  readonly keys: ReadonlySet<string>;
  /** The names of the files and folders of `keys`, by the folder that contains them. */
  readonly keyNames: ReadonlyMap<string, ReadonlySet<string>>;
  readonly startUp: ReadonlySet<string>;
  /** The folders of the terminal agent, and the targets of links in them. */
  readonly secret: readonly string[];
  readonly executed: readonly string[];
}

let known: Places | undefined;
/** The time after which the places are computed again, in milliseconds. The user can change a link. */
const maxAgeMs = 1000;

/**
 * Returns the protected locations, each of them also with its real path. A search calls this function for each
 * folder. The lists are therefore kept for a short time, as long as the variables do not change.
 */
function currentPlaces(): Places {
  const { HOME, XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  const folders = [HOME, XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME, LOCALAPPDATA];
  const homes = [homedir(), ...folders].join('\0');
  const at = performance.now();
  if (known?.homes === homes && at - known.at < maxAgeMs) return known;
  const { keys, startUp, agent } = keyPlaces(process.env);
  const setOf = (paths: readonly string[]) => new Set(paths.map(foldName));
  const [secret, executed] = [[...setOf(agent.secret)], [...setOf(agent.executed)]];
  const all = setOf([...keys, ...systemPlaces]);
  const compiled = compiledPlaces(process.env).flatMap((path) => pathForms(path));
  known = {
    ...{ homes, at, keys: all, keyNames: namesByFolder(all), secret, executed },
    startUp: setOf([...startUp, ...compiled]),
  };
  return known;
}

function namesByFolder(places: ReadonlySet<string>): ReadonlyMap<string, ReadonlySet<string>> {
  const byFolder = new Map<string, Set<string>>();
  for (const place of places) {
    const names = byFolder.get(dirname(place)) ?? new Set();
    byFolder.set(dirname(place), names.add(basename(place)));
  }
  return byFolder;
}
