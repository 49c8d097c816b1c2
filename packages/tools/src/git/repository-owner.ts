import { lstat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { GitSetting } from './git-environment.ts';

/**
 * Returns true if a repository belongs to this user, or if the user listed it in `safe.directory`. Git applies
 * the same rule, but not if `GIT_DIR` names the repository. The owner of a repository can change its settings
 * after every check. In `/tmp`, for example, any user can create a repository above the folders of others.
 *
 * @param paths - The folder of the repository, its `.git`, and the git folder that `.git` refers to.
 * @param settings - The git settings of the user. Default: no settings.
 */
export async function isOwnRepository(
  paths: readonly [root: string, ...others: string[]],
  settings: readonly GitSetting[] = [],
): Promise<boolean> {
  const user = process.geteuid?.();
  // Windows has no user ids, so the check is not possible.
  if (user === undefined || isListed(paths[0], settings)) return true;
  const owners = [user, ...(user === 0 ? callerOfSudo() : [])];
  const found = await Promise.all(paths.map((path) => lstat(path).catch(() => undefined)));
  return found.every((one) => one !== undefined && owners.includes(one.uid));
}

/** Returns the user who started this process with sudo. */
function callerOfSudo(): readonly number[] {
  const id = process.env['SUDO_UID'] ?? '';
  return /^\d{1,10}$/.test(id) ? [Number(id)] : [];
}

/** Returns true if `safe.directory` contains the folder. An empty value removes all earlier values. */
function isListed(root: string, settings: readonly GitSetting[]): boolean {
  const all = settings.flatMap(([name, value]) => (name === 'safe.directory' ? [value] : []));
  return all.slice(all.lastIndexOf('') + 1).some((value) => {
    const folder = value.startsWith('~/') ? join(homedir(), value.slice(2)) : value;
    if (folder === '*' || folder === root) return true;
    return folder.endsWith('/*') && `${root}/`.startsWith(folder.slice(0, -1));
  });
}
