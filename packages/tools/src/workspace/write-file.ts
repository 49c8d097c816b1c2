import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises';
import { errorCodeOf, WorkspaceError } from '../contract/workspace-error.ts';
import type { Folder } from './folder.ts';
import {
  checkRegularFile,
  isFolderError,
  isSameVersion,
  openFileIn,
  readContent,
  type Version,
} from './open-file.ts';
import { type OpenRoot, openOrCreateParent } from './open-folder.ts';
import { explainPathFailure, vanishedError } from './path-failure.ts';
import { type Place, segmentAt } from './resolve-path.ts';

export interface WriteOptions {
  /** Whether to wait until the disk has it, so that it also survives a loss of power. */
  readonly sync?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Written {
  readonly place: Place;
  readonly isNew: boolean;
}

interface WriteFileOptions extends WriteOptions {
  readonly expected?: Version | undefined;
}

const maxAttempts = 20;

/**
 * Writes a file whole or not at all: into a new file beside it, which then takes its name. Nobody sees
 * half of it, and a failure leaves nothing behind, folders included. With `expected`, only if the file
 * still holds that.
 */
export async function writeFile(
  openRoot: OpenRoot,
  place: Place,
  bytes: Uint8Array,
  options: WriteFileOptions,
): Promise<Written> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await writeOnce(openRoot, place, bytes, options);
    } catch (error) {
      // Whoever made the folder on the way may have failed, and unmade it: then it is made again.
      const canRetry = options.expected === undefined && attempt < maxAttempts && isGone(error);
      if (!canRetry) throw error;
    }
  }
}

function isGone(error: unknown): boolean {
  return error instanceof WorkspaceError && ['vanished', 'not_found'].includes(error.code);
}

async function writeOnce(
  openRoot: OpenRoot,
  place: Place,
  bytes: Uint8Array,
  { expected, ...options }: WriteFileOptions,
): Promise<Written> {
  const last = place.segments.length - 1;
  if (last < 0) throw isFolderError(place);
  const { folder, undo, close } = await openOrCreateParent(openRoot, place);
  try {
    const before = await existingStats(folder, place);
    if (before === undefined && expected !== undefined) throw vanishedError(place);
    await replace(folder, place, bytes, before, expected, options);
    return { place, isNew: before === undefined };
  } catch (error) {
    await undo();
    throw errorCodeOf(error) === 'ENOENT'
      ? vanishedError(place)
      : await explainPathFailure(place, last, folder, error);
  } finally {
    await close();
  }
}

async function replace(
  folder: Folder,
  place: Place,
  bytes: Uint8Array,
  before: Stats | undefined,
  expected: Version | undefined,
  { sync = false, signal }: WriteOptions,
): Promise<void> {
  const name = segmentAt(place, place.segments.length - 1);
  // A rename needs no permission for the file it replaces, but who made it read-only meant it.
  if (before !== undefined) await access(folder.pathOf(name), constants.W_OK);
  const temporary = await writeTemporary(folder, bytes, before, sync);
  try {
    signal?.throwIfAborted();
    // As late as can be. What others change between this and the rename, nobody can notice.
    if (expected === undefined) await existingStats(folder, place);
    else await checkVersion(folder, place, expected);
    await rename(folder.pathOf(temporary), folder.pathOf(name));
  } catch (error) {
    await removeTemporary(folder, temporary);
    throw error;
  }
  if (sync) await syncFolder(folder);
}

/** Of the file that is there, if any; fails for anything else, a link too. */
async function existingStats(folder: Folder, place: Place): Promise<Stats | undefined> {
  try {
    const stats = await lstat(folder.pathOf(segmentAt(place, place.segments.length - 1)));
    checkRegularFile(place, stats);
    return stats;
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function checkVersion(folder: Folder, place: Place, expected: Version): Promise<void> {
  const file = await openFileIn(folder, place);
  try {
    if (file.stats.size !== expected.size) throw changedError(place);
    const { version } = await readContent(file, expected.size);
    if (!isSameVersion(version, expected)) throw changedError(place);
  } finally {
    await file.handle.close();
  }
}

async function syncFolder(folder: Folder): Promise<void> {
  const handle = await open(folder.pathOf(), constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function changedError({ given }: Place): WorkspaceError {
  const state =
    'another process changed it since it was read, and nothing was written. Read it again, then repeat the change';
  return new WorkspaceError('changed', given, state);
}

const newFlags =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/** Bytes in a new file beside the one that they are to replace, with its rights. Gives its name. */
export async function writeTemporary(
  folder: Folder,
  bytes: Uint8Array,
  before: Stats | undefined,
  sync: boolean,
): Promise<string> {
  const name = `.millrace-${randomBytes(8).toString('hex')}.tmp`;
  // Nobody else may read it before it has the rights of the one it replaces.
  const handle = await open(folder.pathOf(name), newFlags, before === undefined ? 0o666 : 0o600);
  try {
    await folder.check(name, handle);
    await handle.writeFile(bytes);
    if (before !== undefined) await copyPermissions(handle, before);
    if (sync) await handle.sync();
  } catch (error) {
    await removeTemporary(folder, name);
    throw error;
  } finally {
    await handle.close();
  }
  return name;
}

export async function removeTemporary(folder: Folder, name: string): Promise<void> {
  await unlink(folder.pathOf(name)).catch(() => {});
}

/** Mode, and owner where this process may. Extended attributes are beyond Node's reach, and are lost. */
async function copyPermissions(handle: FileHandle, before: Stats): Promise<void> {
  const { uid, gid } = await handle.stat();
  const isKept =
    (uid === before.uid && gid === before.gid) ||
    (await handle.chown(before.uid, before.gid).then(
      () => true,
      () => false,
    ));
  // A program that runs as its owner must not become one that runs as us.
  await handle.chmod(before.mode & (isKept ? 0o7777 : 0o777));
}
