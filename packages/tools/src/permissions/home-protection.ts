import * as modules from 'node:module';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import { keyPlaces } from '../sandbox/key-places.ts';
import type { LexicalPath } from '../workspace/match-path.ts';
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
  const names = currentPlaces().keyNames.get(folder.absolute.toLowerCase());
  if (names === undefined) return isSecret;
  return (name) => isSecret(name) || names.has(name.toLowerCase());
}

/**
 * Returns the reason why a path of the home folder or the system needs an approval. This matters if the
 * workspace contains the home folder. The sandbox hides and protects these locations, so the other tools must
 * not reach them either. If the workspace itself is inside such a location, its files are not protected. The
 * folders of the terminal agent are always protected, because the agent runs the hooks and extensions in them.
 */
export function homeProtection(path: LexicalPath, use: 'read' | 'write'): Protection | undefined {
  const { keys, startUp, agent } = currentPlaces();
  const given = path.absolute.toLowerCase();
  if (agent.some((place) => given === place || given.startsWith(`${place}${sep}`)))
    return { segment: 'millrace', why: use === 'write' ? 'runs_code' : 'secret' };
  for (const place of placesAbove(path)) {
    const segment = basename(place);
    if (use === 'write' && startUp.has(place)) return { segment, why: 'runs_code' };
    if (keys.has(place)) return { segment, why: 'secret' };
  }
  return undefined;
}

/** Returns the path and its parent folders up to the workspace, in lower case. */
function placesAbove({ absolute, shown, isInside }: LexicalPath): readonly string[] {
  const isRoot = shown === '' || shown === '.';
  const count = isInside ? (isRoot ? 0 : shown.split('/').length) : absolute.split('/').length;
  const places: string[] = [];
  for (let place = absolute.toLowerCase(); places.length < count; place = dirname(place))
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
 * Returns the folders of the terminal agent: the usual locations, and those that environment variables set. They
 * contain keys, settings with approvals, hooks, extensions, and sessions with all messages.
 */
function agentPlaces(env: Env): readonly string[] {
  const set = [env['XDG_CONFIG_HOME'], env['XDG_DATA_HOME'], env['LOCALAPPDATA']];
  const homes = [homedir(), env['HOME'] ?? ''];
  const usual = homes.flatMap((home) => [join(home, '.config'), join(home, '.local', 'share')]);
  const folders = [...set, ...usual].filter((folder) => folder !== undefined);
  return folders.filter((folder) => isAbsolute(folder)).map((folder) => join(folder, 'millrace'));
}

/**
 * Returns the folders with compiled code that this program or the terminal agent loads at its next start. The
 * sandbox protects them too.
 */
function compiledPlaces({ HOME = '', XDG_CACHE_HOME = '' }: Env): readonly string[] {
  const caches = isAbsolute(XDG_CACHE_HOME)
    ? [XDG_CACHE_HOME]
    : [homedir(), HOME].filter(isAbsolute).map((home) => join(home, '.cache'));
  // Runtimes other than Node.js do not have this function.
  const own = modules.getCompileCacheDir?.() ?? '';
  return [own, ...caches.map((folder) => join(folder, 'millrace'))].filter(isAbsolute);
}

type Env = Readonly<Record<string, string | undefined>>;

interface Places {
  readonly homes: string;
  readonly keys: ReadonlySet<string>;
  /** The names of the keys in each folder. */
  readonly keyNames: ReadonlyMap<string, ReadonlySet<string>>;
  readonly startUp: ReadonlySet<string>;
  /** The folders of the terminal agent. */
  readonly agent: readonly string[];
}

let known: Places | undefined;

/**
 * Returns the protected locations. A search calls this function for each folder. The lists are therefore cached
 * until the home folder or the folders of the agent change.
 */
function currentPlaces(): Places {
  const { HOME, XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  const folders = [HOME, XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME, LOCALAPPDATA];
  const homes = [homedir(), ...folders].join('\0');
  if (known?.homes === homes) return known;
  const { keys, startUp } = keyPlaces(process.env);
  const setOf = (paths: readonly string[]) => new Set(paths.map((path) => path.toLowerCase()));
  const agent = [...setOf(agentPlaces(process.env))];
  const all = setOf([...keys, ...systemPlaces, ...agent]);
  known = {
    ...{ homes, keys: all, keyNames: namesByFolder(all), agent },
    startUp: setOf([...startUp, ...compiledPlaces(process.env)]),
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
