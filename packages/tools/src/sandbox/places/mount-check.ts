import { readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { atRealPath } from '../../workspace/folder.ts';
import type { FirstProcess } from '../private/first-process.ts';
import { unescaped } from './mount-table.ts';

/** A folder that a command may change, or a place in it, and what a mount shows there. */
export interface PlannedMount {
  readonly path: string;
  /**
   * `itself`: the file or folder of the folder above. `other`: an empty file or folder instead of it. A place on a disk:
   * this folder.
   */
  readonly shows: 'itself' | 'other' | DiskPlace;
}

/** The place of a folder in its file system. */
export interface DiskPlace {
  readonly device: string;
  readonly root: string;
}

/** Returns the place of a folder or file. Throws a `SandboxError` if a link has replaced a folder on its real path. */
export function diskPlaceOf(folder: string): DiskPlace {
  try {
    return atRealPath(folder, (opened) => {
      const info = readFileSync(`/proc/self/fdinfo/${basename(opened)}`, 'latin1');
      const [, id] = /^mnt_id:\s*(\d+)$/m.exec(info) ?? [];
      const mount = mountsOf('self').find((one) => one.id === id);
      if (mount === undefined) throw new Error('its mount is unknown');
      return { device: mount.device, root: join(mount.root, relative(mount.point, folder)) };
    });
  } catch (error) {
    throw unusableFolder(folder, error);
  }
}

function unusableFolder(path: string, cause: unknown): SandboxError {
  const why = cause instanceof Error ? cause.message : 'unknown error';
  const message = `Cannot run commands in ${path}: ${why}. If a command moved a folder, move it back`;
  return new SandboxError('cannot_confine', message, { path }, { cause });
}

/**
 * Returns true if bubblewrap has created all mounts in this process. It gives up its permission to mount only after
 * that, immediately before the command starts.
 */
function hasCreatedMounts(pid: number): boolean {
  return /^CapEff:\s*0+$/m.test(readProcess(pid, 'status'));
}

/**
 * Returns true if a process has all planned mounts. Bubblewrap finds a path by its name. Another command can replace a
 * folder on the path at this moment, and bubblewrap would then mount a different folder, or mount it in a different place.
 * Returns undefined if the process has ended.
 */
function hasPlannedMounts(pid: number, planned: readonly PlannedMount[]): boolean | undefined {
  const mounts = mountsOf(pid);
  if (mounts.length === 0) return undefined;
  const byId = new Map(mounts.map((mount) => [mount.id, mount]));
  // The kernel lists mounts in the order of their creation, so the last mount at a path covers the others.
  const byPoint = new Map(mounts.map((mount) => [mount.point, mount]));
  const last = new Map(planned.map(({ path, shows }) => [path, shows]));
  return [...last].every(([path, shows]) => {
    const mount = byPoint.get(path);
    const below = mount && byId.get(mount.parent);
    if (mount === undefined || below === undefined) return false;
    if (typeof shows === 'object')
      return mount.device === shows.device && mount.root === shows.root;
    const isItself =
      mount.device === below.device &&
      mount.root === join(below.root, relative(below.point, mount.point));
    return isItself === (shows === 'itself');
  });
}

/** Maximum time between two checks whether bubblewrap is ready, in milliseconds. */
const maxPauseMs = 20;

/** Waits until bubblewrap is about to start the command. Returns true if its mounts are those of the plan. */
export async function checkMounts(
  first: FirstProcess,
  mounts: readonly PlannedMount[],
  ended: AbortSignal,
): Promise<boolean> {
  for (let pauseMs = 1; !ended.aborted; pauseMs = Math.min(pauseMs * 1.1, maxPauseMs)) {
    const pid = first.id();
    const isReady = pid !== undefined && hasCreatedMounts(pid);
    const isAsPlanned = isReady ? hasPlannedMounts(pid, mounts) : undefined;
    if (isAsPlanned !== undefined) return isAsPlanned;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  // The program has ended itself, and its output explains why.
  return true;
}

interface Mount {
  readonly id: string;
  readonly parent: string;
  readonly device: string;
  /** The folder of the file system that the mount shows. */
  readonly root: string;
  readonly point: string;
}

function mountsOf(pid: number | 'self'): readonly Mount[] {
  return readProcess(pid, 'mountinfo')
    .split('\n')
    .flatMap((line) => {
      const [id, parent, device, root, point] = line.split(' ').map(unescaped);
      return id && parent && device && root && point ? [{ id, parent, device, root, point }] : [];
    });
}

/** Returns an empty text if the process has ended. */
function readProcess(pid: number | 'self', name: 'status' | 'mountinfo'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
