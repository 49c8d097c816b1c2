import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const caches = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));

/** Creates a folder for build output of this process. Deletes the folders of processes that have ended. */
export function processFolder(name: string): string {
  mkdirSync(caches, { recursive: true });
  for (const found of readdirSync(caches)) {
    const [, owner, pid] = /^(.+)-(\d+)-\w+$/.exec(found) ?? [];
    if (owner === name && !isAlive(Number(pid))) remove(join(caches, found));
  }
  const folder = mkdtempSync(join(caches, `${name}-${process.pid}-`));
  process.once('exit', () => remove(folder));
  return folder;
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
