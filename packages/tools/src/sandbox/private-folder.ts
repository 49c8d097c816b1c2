import { mkdtempSync, realpathSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import { isBelow } from './protected-paths.ts';

/** True if a path is outside all of these folders. All paths must be real paths. */
export function isAway(path: string, folders: readonly string[]): boolean {
  return !folders.some((folder) => folder === path || isBelow(folder, path));
}

/**
 * Creates a folder that only this user can open, and returns its real path. The folder is outside of the
 * folders in `away`, which commands may change. Otherwise a command could replace the agent's files.
 *
 * With `files`, the folder is on a disk if possible, because it can receive large files. With `pipes`, it is
 * in memory if possible, because it stays small. Commands in the sandbox do not see the memory folders of the
 * host.
 */
export function createPrivateFolder(
  prefix: string,
  away: readonly string[],
  use: 'files' | 'pipes',
): string {
  const memory = [process.env['XDG_RUNTIME_DIR'] ?? '', '/dev/shm'];
  const disk = [tmpdir(), '/var/tmp', join(homedir(), '.cache')];
  const places = use === 'files' ? [...disk, ...memory] : [...memory, ...disk];
  for (const place of places) {
    if (!isAbsolute(place)) continue;
    try {
      const real = realpathSync(place);
      if (isAway(real, away)) return mkdtempSync(join(real, prefix));
    } catch {
      // The place does not exist, or this user cannot write there. The loop tries the next place.
    }
  }
  throw new SandboxError(
    'cannot_confine',
    'Cannot run the command: there is no folder for temporary files outside of the workspace. Set TMPDIR to one',
    { path: tmpdir() },
  );
}
