import { randomUUID } from 'node:crypto';
import { lstatSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { isHarmlessChange } from '../git/git-config.ts';
import type { KeptFile, KeptPlace } from './protected-paths.ts';

/**
 * Returns what distinguishes a file or folder from one that replaced it. The number of a removed
 * file can be used again, so the time of creation belongs to it. Undefined if nothing is there.
 */
export function identityOf(path: string): string | undefined {
  try {
    const entry = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return entry && `${entry.dev}:${entry.ino}:${entry.birthtimeNs}`;
  } catch {
    return undefined;
  }
}

/**
 * Undoes what a command may have done to a place after a program outside of the sandbox replaced
 * it. It is unknown who wrote what is there now. Returns what happened, for the model.
 */
export function restorePlace(place: KeptPlace): string {
  const { path, guard, file } = place;
  const why = `The sandbox stopped the command, because another program replaced ${path} while it ran`;
  // The places in a pinned folder are restored one by one.
  if (guard === 'pinned' || isAsBefore(path, file)) return `${why}. Run it again`;
  const away = `${path}.blocked-by-sandbox-${randomUUID()}`;
  const isRestored = moveAway(path, away) && (file === undefined || writeAgain(path, file));
  if (!isRestored) return `${why}. ${path} could not be restored: tell the user to check it`;
  const now = file === undefined ? '' : ', and its earlier content is there again';
  return `${why}. The command could have changed it too, so it is now ${away}${now}. Tell the user to compare them`;
}

/** Whether a file has its earlier content, or settings of git with a harmless change. */
function isAsBefore(path: string, file: KeptFile | undefined): boolean {
  if (file === undefined) return false;
  try {
    if (!lstatSync(path).isFile()) return false;
    const now = readFileSync(path);
    if (now.equals(file.content)) return true;
    const isConfig = ['config', 'config.worktree'].includes(basename(path));
    return isConfig && isHarmlessChange(file.content.toString('utf8'), now.toString('utf8'));
  } catch {
    return false;
  }
}

function moveAway(path: string, to: string): boolean {
  try {
    renameSync(path, to);
    return true;
  } catch {
    return false;
  }
}

/** Another command that is being stopped may create the file again, so this is tried some times. */
const maxAttempts = 100;

function writeAgain(path: string, { content, mode }: KeptFile): boolean {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    try {
      writeFileSync(path, content, { mode, flag: 'wx' });
      return true;
    } catch {
      moveAway(path, `${path}.blocked-by-sandbox-${randomUUID()}`);
    }
  }
  return false;
}
