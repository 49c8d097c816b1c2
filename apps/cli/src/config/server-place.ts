import { realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, resolve } from 'node:path';
import type { Env } from '../contract/host.ts';
import { foldersUpToRoot, isInside, userConfigFolder } from './config-paths.ts';

/** The folder and the PATH for starting MCP servers of the user's own configuration. */
export interface ServerPlace {
  /** A folder that belongs to the user. */
  readonly folder: string;
  /**
   * The variable PATH without the folders that the project can change. Undefined if PATH is not
   * set.
   */
  readonly searchPath: string | undefined;
}

/**
 * Finds a folder outside of the project in which the user's MCP servers start. Programs such as
 * `npx` prefer packages in their working folder. In the project's folder, a hostile project could
 * therefore replace a server of the user. Its program would run before the user is asked.
 */
export async function findServerPlace(env: Env, cwd: string): Promise<ServerPlace> {
  const home = env['HOME'] || env['USERPROFILE'] || homedir();
  const own = userConfigFolder(env);
  return {
    folder: own !== undefined && (await isFolder(own)) ? own : home,
    searchPath: env['PATH'] && (await cleanSearchPath(env['PATH'], cwd, home)),
  };
}

/** Variables that contain folders from which programs load code. */
const codePaths = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'NODE_PATH', 'PYTHONPATH'];

/**
 * Returns an environment for programs of the user that start in a project. Its search paths have no
 * entries that are relative or inside of the project. Otherwise an untrusted project could replace
 * each program that the user's programs start.
 */
export async function envOutsideProject(env: Env, cwd: string): Promise<Env> {
  const home = env['HOME'] || env['USERPROFILE'] || homedir();
  const set = codePaths.filter((name) => env[name]);
  const cleaned = await Promise.all(set.map((name) => cleanSearchPath(env[name] ?? '', cwd, home)));
  return { ...env, ...Object.fromEntries(set.map((name, index) => [name, cleaned[index]])) };
}

/** Removes relative and empty entries, and entries inside the project. */
async function cleanSearchPath(searchPath: string, cwd: string, home: string): Promise<string> {
  const root = (await foldersUpToRoot(cwd)).at(-1) ?? cwd;
  const roots = await bothPaths(root);
  // A project that contains the home folder belongs to the user, so its entries of PATH are kept.
  const isOwn = (await bothPaths(home)).some((one) => isInAny(one, roots));
  const checked = searchPath.split(delimiter).map(async (entry) => {
    if (!isAbsolute(entry)) return [];
    const isOfProject = (await bothPaths(entry)).some((one) => isInAny(one, roots));
    return isOfProject && !isOwn ? [] : [entry];
  });
  return (await Promise.all(checked)).flat().join(delimiter);
}

function isInAny(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isInside(path, folder));
}

/** Returns the given path and its real path, with all links resolved. */
async function bothPaths(path: string): Promise<readonly string[]> {
  const written = resolve(path);
  return [written, await realpath(written).catch(() => written)];
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
