import { lstat, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { ConfigError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';

/**
 * Returns the folder of the user's own configuration. Returns undefined if no environment variable
 * determines it.
 */
export function userConfigFolder(env: Env): string | undefined {
  const { XDG_CONFIG_HOME: given, HOME, USERPROFILE } = env;
  // The XDG specification requires that relative paths are ignored.
  if (given && isAbsolute(given)) return join(given, 'millrace');
  const home = HOME || USERPROFILE;
  return home ? join(home, '.config', 'millrace') : undefined;
}

/**
 * Returns the folder for sessions and other data. Returns undefined if no environment variable
 * determines it.
 */
export function userDataFolder(env: Env): string | undefined {
  const { XDG_DATA_HOME: data = '', LOCALAPPDATA: local = '', HOME: home = '' } = env;
  // The XDG specification requires that relative paths are ignored.
  if (isAbsolute(data)) return join(data, 'millrace');
  if (isAbsolute(local)) return join(local, 'millrace');
  return isAbsolute(home) ? join(home, '.local', 'share', 'millrace') : undefined;
}

/** Returns the folder with the logins to MCP servers. */
export function loginsFolder(env: Env): string | undefined {
  const folder = userConfigFolder(env);
  return folder && join(folder, 'mcp-logins');
}

/** Returns the folder for copies of files that commands change. See `commandFiles` of the tools. */
export function fileCopiesFolder(env: Env): string | undefined {
  const data = userDataFolder(env);
  return data && join(data, 'copies');
}

/**
 * Returns the folder for the git worktrees of sub-agents. It is not in the folder for sessions, because commands
 * cannot see that folder.
 */
export function worktreesFolder(env: Env): string | undefined {
  const { XDG_CACHE_HOME: cache = '', LOCALAPPDATA: local = '', HOME: home = '' } = env;
  if (isAbsolute(cache)) return join(cache, 'millrace', 'worktrees');
  if (isAbsolute(local)) return join(local, 'millrace-worktrees');
  return isAbsolute(home) ? join(home, '.cache', 'millrace', 'worktrees') : undefined;
}

/** Returns the folder of the daemon of a session store that is not the default store. */
export function daemonFolderOf(store: string): string {
  return `${store}-daemon`;
}

const projectFileName = 'millrace.json';

/**
 * Finds the nearest millrace.json, from a folder up to the repository root. If the file belongs to
 * a different user, it is skipped, and `warn` receives a sentence about it.
 */
export async function findProjectFile(
  cwd: string,
  warn: (problem: string) => void = () => {},
): Promise<string | undefined> {
  for (const folder of await foldersUpToRoot(cwd)) {
    const path = join(folder, projectFileName);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) continue;
    if (!(await isOwn(path, cwd))) {
      warn(`${path} is not used: it belongs to another user.`);
      continue;
    }
    if (found.isFile() || found.isDirectory()) return path;
    throw notAFile(path);
  }
  return undefined;
}

/**
 * Creates the error for a path that is not a regular file. Such a path is not read, because reading
 * a pipe could block forever.
 */
function notAFile(path: string): ConfigError {
  const way = 'Remove it, or choose another file with --config';
  return new ConfigError(`Cannot read ${path}: it is not a regular file. ${way}`, { path });
}

// Maximum number of parent folders. No operating system supports deeper paths.
const maxDepth = 1000;

/**
 * Returns a folder and its parents up to the repository root. If the folder is in no repository,
 * returns only the folder. A repository of a different user is ignored. In `/tmp`, for example, any
 * user can create one above the folders of other users.
 */
export async function foldersUpToRoot(folder: string): Promise<readonly string[]> {
  const folders = [folder];
  for (let at = folder; folders.length < maxDepth; folders.push(at)) {
    if (await isOwn(join(at, '.git'), folder)) return folders;
    const above = dirname(at);
    if (above === at) break;
    at = above;
  }
  return [folder];
}

/** Returns true if `path` is the folder itself or is below it. Links are not resolved. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Returns true if a path exists and has a trusted owner: this user, root, or the owner of the
 * working folder. Containers often run as root in a folder of a different user. For a link, both
 * the link and its target must have a trusted owner.
 */
export async function isOwn(path: string, cwd: string): Promise<boolean> {
  const [link, target] = await Promise.all([lstat(path), stat(path)]).catch(() => []);
  if (link === undefined || target === undefined) return false;
  const user = process.getuid?.();
  // Windows has no user ids, so the check is not possible.
  if (user === undefined) return true;
  const owners = [user, 0, (await stat(cwd).catch(() => undefined))?.uid];
  return owners.includes(link.uid) && owners.includes(target.uid);
}

/** The ends of the names of the files that SQLite and the log create beside a database. */
const databaseEnds = ['-wal', '-shm', '-journal', '-mark'] as const;

/** Returns the path of a database, and the paths of all files that SQLite and the log create beside it. */
export function databaseFiles(path: string): readonly string[] {
  return [path, ...databaseEnds.map((end) => path + end)];
}
