import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const memoryFiles = '/dev/shm';
const neededBytes = 4 * 2 ** 30;

/**
 * Returns the folder for the temporary files of stores, which sync each commit: a file system in memory if the
 * machine has one with enough space, otherwise the folder for temporary files. A killed process leaves the same
 * files in both. Only a power failure, which no test causes, would show a difference.
 */
export function storeTmpdir(): string {
  try {
    accessSync(memoryFiles, constants.W_OK);
    const { bavail, bsize } = statfsSync(memoryFiles);
    return bavail * bsize >= neededBytes ? memoryFiles : tmpdir();
  } catch {
    return tmpdir();
  }
}
