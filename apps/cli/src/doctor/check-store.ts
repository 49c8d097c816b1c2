import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMillraceError } from '@millrace/core';
import { countOf } from '../print/text-table.ts';
import { storePath, withStore } from '../store/open-store.ts';
import type { Check, CheckContext, Finding } from './check.ts';

const about = 'store';
const minFreeBytes = 200 * 2 ** 20;

/** Checks whether sessions can be stored and read. */
export const checkStore: Check = async (context) => {
  try {
    const path = storePath(context.config ?? {}, context.env);
    const found = await stat(path).catch(() => undefined);
    const findings =
      found === undefined
        ? await newStoreFindings(path)
        : await storeFindings(path, found, context);
    return [...findings, ...(await diskFindings(path))];
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return [{ about, state: 'fail', text: error.message }];
  }
};

async function newStoreFindings(path: string): Promise<readonly Finding[]> {
  const folder = await nearestFolder(path);
  if (!(await stat(folder)).isDirectory())
    return [unwritableFinding(path, `${folder} is not a folder`)];
  const isWritable = await access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (isWritable)
    return [{ about, state: 'ok', text: `No sessions yet; they will be stored in ${path}` }];
  return [unwritableFinding(path, `${folder} is not writable`)];
}

function unwritableFinding(path: string, why: string): Finding {
  const text = `Cannot store sessions in ${path}: ${why}`;
  return { about, state: 'fail', text, advice: 'Fix that, or choose another file with --store' };
}

async function storeFindings(
  path: string,
  { mode, size }: { readonly mode: number; readonly size: number },
  { config, env, platform }: CheckContext,
): Promise<readonly Finding[]> {
  const isOpen = platform !== 'win32' && (mode & 0o077) !== 0;
  const infos = await withStore({ config: config ?? {}, env }, ({ log }) => log.list());
  const damaged = infos.filter(({ isDamaged }) => isDamaged).length;
  const waiting = infos.filter(({ hasWork }) => hasWork).length;
  const more = waiting === 0 ? '' : `, ${waiting} not finished`;
  const text = `${countOf(infos.length, 'session')}${more} in ${path} (${megabytes(size)})`;
  return [
    { about, state: 'ok', text },
    ...(isOpen ? [readableByOthers(path)] : []),
    ...(damaged > 0 ? [damagedFinding(damaged)] : []),
  ];
}

function readableByOthers(path: string): Finding {
  const text = `${path} was readable by other users. Its permissions are fixed now`;
  return { about, state: 'warn', text };
}

function damagedFinding(count: number): Finding {
  const text = `${countOf(count, 'damaged session')}`;
  const advice = 'Restore a backup of the file, or delete them with millrace sessions delete';
  return { about, state: 'fail', text, advice };
}

async function diskFindings(path: string): Promise<readonly Finding[]> {
  const disk = await statfs(await nearestFolder(path)).catch(() => undefined);
  const free = disk === undefined ? Number.POSITIVE_INFINITY : disk.bavail * disk.bsize;
  if (free >= minFreeBytes) return [];
  const text = `Only ${megabytes(free)} free on the disk of ${path}`;
  return [{ about, state: 'warn', text, advice: 'Free some space. Runs stop on a full disk' }];
}

/** Returns the nearest parent folder that exists. The folders below it are created later. */
async function nearestFolder(path: string): Promise<string> {
  const folder = dirname(path);
  const found = await stat(folder).catch(() => undefined);
  return found !== undefined || folder === path ? folder : nearestFolder(folder);
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
