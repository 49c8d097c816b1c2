import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorCodeOf } from '../../contract/workspace-error.ts';
import { mustRemove } from '../../git/repositories/removal/remove-risk.ts';
import { atRealEntry, inRealFolder, pathOnly } from '../../workspace/folder.ts';
import { moveAway } from '../../workspace/kept-names.ts';
import type { WatchedName } from '../protected-paths.ts';

/** The result of restoring a path that a command has changed. */
export interface Restored {
  /** The new path of the file that appeared there. Undefined if there was no file, or if it was not renamed. */
  readonly away: string | undefined;
  /** True if the path is as before the command. */
  readonly isRestored: boolean;
  /** True if the file that appeared is still there. Without it, the next command has nothing to check. */
  readonly isThere: boolean;
}

export function sentencesOf(changed: ReadonlyMap<string, Restored>): readonly string[] {
  return [...changed].map(([path, restored]) => sentenceOf(path, restored));
}

export function sentenceOf(path: string, { away, isRestored }: Restored): string {
  if (isRestored && away === undefined)
    return `The sandbox restored the link ${path}: commands must not remove or replace it`;
  return isRestored
    ? `The sandbox renamed ${path}: commands must not create or replace it. It is now ${basename(away ?? path)}. If the user created it, the user can rename it back. Set outside_sandbox if the user wants the command to create it`
    : `The sandbox could not rename ${path}, which commands must not create or replace. It has removed all permissions of it, or the link. ${mustRemove}`;
}

export function isUnchanged(
  { path, link }: WatchedName,
  modes: ReadonlyMap<string, number>,
): boolean {
  const isSame = () =>
    atRealEntry(path, (entry) => {
      const found = lstatSync(entry, { throwIfNoEntry: false });
      if (found === undefined) return link === undefined;
      return found.isSymbolicLink() && readlinkSync(entry) === link;
    });
  const attempt = () => {
    try {
      return isSame();
    } catch (error) {
      switch (errorCodeOf(error)) {
        case 'ENOENT':
          return link === undefined;
        // A command replaced the folder, so nothing guards the path any more.
        case 'ENOTDIR':
        case 'ELOOP':
        case 'ESTALE':
          return false;
        default:
          return undefined;
      }
    }
  };
  const first = attempt();
  if (first !== undefined) return first;
  restoreModes(modes);
  // Without access, the folder belongs to a different user, so a command cannot reach the path.
  return attempt() ?? true;
}

/**
 * Renames the file that appeared at a watched path, and restores the link.
 */
export function restore({ path, link }: WatchedName, modes: ReadonlyMap<string, number>): Restored {
  let away = moveAwayAt(path);
  if (away === undefined) {
    // The command may have made the folder read-only. The folder gets write permission, then the rename is
    // tried again.
    restoreModes(modes, dirname(path));
    away = moveAwayAt(path);
  }
  if (away === undefined) makeUnusable(path);
  if (link !== undefined) {
    try {
      atRealEntry(path, (entry) => symlinkSync(link, entry));
    } catch {
      // A different file was created there in the meantime, and the next check renames it. Or a command replaced the
      // folder.
    }
  }
  const isRestored = isUnchanged({ path, link }, modes);
  return { away, isRestored, isThere: !isRestored && isEntry(path) };
}

function isEntry(path: string): boolean {
  try {
    return atRealEntry(path, (entry) => lstatSync(entry, { throwIfNoEntry: false }) !== undefined);
  } catch {
    return false;
  }
}

/** Like `moveAway`, but it renames nothing if a link replaced a folder on the path. */
export function moveAwayAt(path: string): string | undefined {
  try {
    const away = atRealEntry(path, moveAway);
    return away && join(dirname(path), basename(away));
  } catch {
    return undefined;
  }
}

const { O_NOFOLLOW, O_NONBLOCK } = constants;

/**
 * Removes all permissions of a file or folder, or removes a link. A rename can need space for the new name, and fails on
 * a full disk. This needs no space.
 */
function makeUnusable(path: string): void {
  let opened: number | undefined;
  try {
    const isLink = atRealEntry(path, (entry) => lstatSync(entry).isSymbolicLink());
    if (isLink) return atRealEntry(path, (entry) => unlinkSync(entry));
    opened = atRealEntry(path, (entry) => openSync(entry, pathOnly | O_NOFOLLOW | O_NONBLOCK));
    // A change starts the next check, so this function changes nothing twice.
    if ((fstatSync(opened).mode & 0o777) === 0) return;
    if (pathOnly === 0) fchmodSync(opened, 0);
    else chmodSync(`/proc/self/fd/${opened}`, 0);
  } catch {
    // Another program removed the path, or it belongs to a different user.
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}

/**
 * Restores the owner's permissions of folders if a command has removed them. If `opened` is one of the
 * folders, it also gets write permission.
 */
export function restoreModes(modes: ReadonlyMap<string, number>, opened?: string): void {
  for (const [folder, before] of modes) {
    const needed = (before | (folder === opened ? 0o300 : 0)) & 0o700;
    try {
      inRealFolder(folder, (opened) => {
        const { mode } = statSync(opened);
        if ((mode & needed) !== needed) chmodSync(opened, (mode & 0o7777) | needed);
      });
    } catch {
      // The folder was removed or replaced, or it belongs to a different user.
    }
  }
}
