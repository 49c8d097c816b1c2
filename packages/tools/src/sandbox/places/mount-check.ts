import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { unescaped } from './mount-table.ts';

/** A place in the folders that a command may change, and what a mount shows there. */
export interface PlannedMount {
  readonly path: string;
  /** `itself`: the file or folder of the host. `other`: an empty file or folder instead of it. */
  readonly shows: 'itself' | 'other';
}

/**
 * Returns true if bubblewrap has created all mounts in this process. It gives up its permission to mount only after
 * that, immediately before the command starts.
 */
export function hasCreatedMounts(pid: number): boolean {
  return /^CapEff:\s*0+$/m.test(readProcess(pid, 'status'));
}

/**
 * Returns true if a process has all planned mounts. Bubblewrap finds a path by its name. Another command can replace a
 * folder on the path at this moment, and bubblewrap would then mount a different folder, or mount it in a different place.
 */
export function hasPlannedMounts(pid: number, planned: readonly PlannedMount[]): boolean {
  const mounts = mountsOf(pid);
  const byId = new Map(mounts.map((mount) => [mount.id, mount]));
  // The kernel lists mounts in the order of their creation, so the last mount at a path covers the others.
  const byPoint = new Map(mounts.map((mount) => [mount.point, mount]));
  const last = new Map(planned.map(({ path, shows }) => [path, shows]));
  return [...last].every(([path, shows]) => {
    const mount = byPoint.get(path);
    const below = mount && byId.get(mount.parent);
    if (mount === undefined || below === undefined) return false;
    const isItself =
      mount.device === below.device &&
      mount.root === join(below.root, relative(below.point, mount.point));
    return isItself === (shows === 'itself');
  });
}

interface Mount {
  readonly id: string;
  readonly parent: string;
  readonly device: string;
  /** The folder of the file system that the mount shows. */
  readonly root: string;
  readonly point: string;
}

function mountsOf(pid: number): readonly Mount[] {
  return readProcess(pid, 'mountinfo')
    .split('\n')
    .flatMap((line) => {
      const [id, parent, device, root, point] = line.split(' ').map(unescaped);
      return id && parent && device && root && point ? [{ id, parent, device, root, point }] : [];
    });
}

/** Returns an empty text if the process has ended. */
function readProcess(pid: number, name: 'status' | 'mountinfo'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
