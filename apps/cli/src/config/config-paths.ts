import { stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Env } from '../models/env.ts';
import { ConfigError } from './config-error.ts';
import { foldersUpToRoot } from './folders-up.ts';

/** The folder of the user's own files, where the environment says where that is. */
export function userFolder(env: Env): string | undefined {
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
