import { DatabaseSync } from 'node:sqlite';

/** The error code of SQLite for a file that a different process has locked (`SQLITE_BUSY`). */
const busyCode = 5;

/**
 * Locks the store for one daemon. Returns undefined if a different process holds the lock. The kernel
 * releases the lock when the process ends, so a killed daemon leaves nothing that must be removed.
 */
export function lockDaemon(path: string): { release(): void } | undefined {
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if ((error as { readonly errcode?: number }).errcode === busyCode) return undefined;
    throw error;
  }
}
