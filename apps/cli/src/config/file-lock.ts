import { open, rm, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { ConfigError } from './config-error.ts';

const pauseMs = 20;
const maxTries = 250;
/** What is done meanwhile takes milliseconds: whoever holds it longer is dead. */
const staleMs = 3000;

/** Does something while no other process does it with the same file. Its folder has to be there. */
export async function withFileLock<Result>(
  path: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = `${path}.lock`;
  await take(lock);
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function take(lock: string): Promise<void> {
  for (let tries = 0; tries < maxTries; tries++) {
    if (await isMade(lock)) return;
    const found = await stat(lock).catch(() => undefined);
    const isStale = found !== undefined && Date.now() - found.mtimeMs > staleMs;
    if (isStale) await rm(lock, { force: true });
    else await pause(pauseMs);
  }
  const way = 'Try again; if nothing else runs, delete that file';
  throw new ConfigError(`Cannot write: another process holds ${lock}. ${way}`, { path: lock });
}

/** Made by one of all who try at the same time. */
async function isMade(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
