import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const caches = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));

/** Creates a folder for build output of this process. Deletes the folders of processes that have ended. */
export function processFolder(name: string): string {
  removeAbandoned(name);
  const folder = mkdtempSync(join(caches, `${name}-${process.pid}-`));
  process.once('exit', () => remove(folder));
  return folder;
}

/**
 * Returns the folder for build output that all test processes of one run share. Deletes the folders of
 * runs that have ended.
 */
export function sharedFolder(name: string): string {
  removeAbandoned(name);
  // The parent of a test process is the program that runs all tests.
  const folder = join(caches, `${name}-${process.ppid}-shared`);
  mkdirSync(folder, { recursive: true });
  return folder;
}

function removeAbandoned(name: string): void {
  mkdirSync(caches, { recursive: true });
  for (const found of readdirSync(caches)) {
    const [, owner, pid] = /^(.+)-(\d+)-\w+$/.exec(found) ?? [];
    if (owner === name && !isAlive(Number(pid))) remove(join(caches, found));
  }
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
