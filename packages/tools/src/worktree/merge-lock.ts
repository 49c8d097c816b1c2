import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** The error code of SQLite for a file that is locked elsewhere (`SQLITE_BUSY`). */
const busyCode = 5;
const pauseMs = 20;

/**
 * Waits until no other program merges into the repository, and then runs `merge`. A merge decides by the files
 * that it finds, so another merge must not create files between a decision and the write. The lock is a lock of
 * SQLite on a file in `folder`. The kernel releases it if the process dies, so a killed program blocks nobody.
 */
export async function withMergeLock<Result>(
  folder: string,
  repository: string,
  merge: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const { DatabaseSync } = await import('node:sqlite');
  const name = createHash('sha256').update(repository).digest('hex').slice(0, 16);
  const lock = new DatabaseSync(join(folder, `merge-${name}.lock`));
  const take = () => {
    try {
      lock.exec('BEGIN EXCLUSIVE');
      return true;
    } catch (error) {
      if ((error as { readonly errcode?: number }).errcode === busyCode) return false;
      throw error;
    }
  };
  try {
    while (!take()) await pause(pauseMs, undefined, { signal });
    return await merge();
  } finally {
    lock.close();
  }
}
