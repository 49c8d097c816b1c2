import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents. By default, only the owner can access them. Throws the
 * error of the system. Node's recursive `mkdir` is not used. It never returns if the system reports
 * ENOENT although the parent exists, for example below `/proc`.
 */
export function makeFolder(path: string, mode = 0o700): void {
  const missing: string[] = [];
  for (let at = path; !isFolder(at) && dirname(at) !== at; at = dirname(at)) missing.push(at);
  for (const folder of missing.toReversed()) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      // A different process may have created the folder in the meantime.
      if (!isFolder(folder)) throw error;
    }
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
