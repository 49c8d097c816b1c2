import { mkdtempSync, realpathSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import { isBelow } from './protected-paths.ts';

/** Tells whether a path is outside of all these folders. All paths must be real. */
export function isAway(path: string, folders: readonly string[]): boolean {
  return !folders.some((folder) => folder === path || isBelow(folder, path));
}

/**
 * Creates a folder that only this user can open, outside of the folders `away`, which commands may
 * change. Otherwise a command could replace what the agent puts there. Returns its real path.
 * `files`: it can take large files. `pipes`: it stays small, so it can be in memory. The sandbox
 * shows no command the folders of the host in memory.
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
      // It does not exist, or this user cannot write there. The next one may do.
    }
  }
  throw new SandboxError(
    'cannot_confine',
    'Cannot run the command: there is no folder for temporary files outside of the workspace. Set TMPDIR to one',
    { path: tmpdir() },
  );
}
