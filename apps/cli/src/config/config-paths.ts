import { stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { ConfigError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';

/** The folder of the user's own files, where the environment says where that is. */
export function userConfigFolder(env: Env): string | undefined {
  const { XDG_CONFIG_HOME: given, HOME, USERPROFILE } = env;
  // The XDG specification has relative ones ignored.
  if (given && isAbsolute(given)) return join(given, 'millrace');
  const home = HOME || USERPROFILE;
  return home ? join(home, '.config', 'millrace') : undefined;
}

const projectFileName = 'millrace.json';

/** The project's file: the nearest one from a folder up to its repository's root. */
export async function findProjectFile(cwd: string): Promise<string | undefined> {
  for (const folder of await foldersUpToRoot(cwd)) {
    const path = join(folder, projectFileName);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) continue;
    if (found.isFile() || found.isDirectory()) return path;
    throw notAFile(path);
  }
  return undefined;
}

/** To read a pipe that came with a project could take for ever. */
function notAFile(path: string): ConfigError {
  const way = 'Take it away, or name another file with --config';
  return new ConfigError(`Cannot read ${path}: it is no regular file. ${way}`, { path });
}

// Deeper than any path that a system takes.
const maxDepth = 1000;

/** A folder and those above it up to its repository's root; itself alone where there is no repository. */
export async function foldersUpToRoot(folder: string): Promise<readonly string[]> {
  const folders = [folder];
  for (let at = folder; folders.length < maxDepth; folders.push(at)) {
    if (await exists(join(at, '.git'))) return folders;
    const above = dirname(at);
    if (above === at) break;
    at = above;
  }
  return [folder];
}

/** In a work tree `.git` is a file. */
async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
