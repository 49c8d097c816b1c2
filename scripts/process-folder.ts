import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const caches = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));

/**
 * Creates a folder for the build output of this process. Also deletes folders of processes that
 * have ended.
 */
export function processFolder(name: string): string {
  removeAbandoned(name);
  const folder = mkdtempSync(join(caches, `${name}-${process.pid}-`));
  process.once('exit', () => remove(folder));
  return folder;
}

/**
 * Returns the path of a folder for build output that all test processes of a run share. Also
 * deletes folders of runs that have ended. A process outside of a run gets its own folder.
 */
export function sharedFolder(name: string): string {
  removeAbandoned(name);
  return join(caches, `${name}-${process.env['MILLRACE_TEST_RUN'] ?? `${process.pid}_own`}`);
}

const waitMs = 50;

/**
 * Builds something once for all test processes of a run, and returns its folder. The other
 * processes wait for the build. If it fails, or its process ends, the next process builds.
 */
export function buildOnce(name: string, build: (folder: string) => void): string {
  const folder = sharedFolder(name);
  const lock = `${folder}_lock`;
  while (!existsSync(folder)) {
    if (!takeLock(lock)) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs);
      continue;
    }
    try {
      if (existsSync(folder)) break;
      const unfinished = processFolder(name);
      build(unfinished);
      renameSync(unfinished, folder);
    } finally {
      remove(lock);
    }
  }
  return folder;
}

/** Tries to take the lock. Returns false if a live process holds it. */
function takeLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const owner = existsSync(lock) ? readFileSync(lock, 'utf8') : '';
    if (owner !== '' && !isAlive(Number(owner))) remove(lock);
    return false;
  }
}

/**
 * Removes the folders of processes that have ended. A folder name is a name, the process id and a
 * suffix, for example `site-4711-Xk2a9c` or `site-4711_own`.
 */
function removeAbandoned(name: string): void {
  mkdirSync(caches, { recursive: true });
  for (const found of readdirSync(caches)) {
    const [, owner, pid] = /^(.+)-(\d+)[-_]\w+$/.exec(found) ?? [];
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
