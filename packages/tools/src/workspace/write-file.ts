import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises';
import { codeOf, WorkspaceError } from '../contract/workspace-error.ts';
import type { Folder } from './folder.ts';
import { makeFolder, type OpenRoot } from './make-folder.ts';
import {
  checkKind,
  isFolder,
  isSameVersion,
  openIn,
  readContent,
  type Version,
} from './open-file.ts';
import { nameAt, type Place } from './resolve-path.ts';
import { vanished, whyNot } from './why-not.ts';

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

const maxTries = 20;

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
  for (let tries = 1; ; tries++) {
    try {
      return await writeOnce(openRoot, place, bytes, options);
    } catch (error) {
      // Whoever made the folder on the way may have failed, and unmade it: then it is made again.
      const isAgain = options.expected === undefined && tries < maxTries && isGone(error);
      if (!isAgain) throw error;
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
  if (last < 0) throw isFolder(place);
  const { folder, undo, close } = await makeFolder(openRoot, place);
  try {
    const before = await statsOf(folder, place);
    if (before === undefined && expected !== undefined) throw vanished(place);
    await replace(folder, place, bytes, before, expected, options);
    return { place, isNew: before === undefined };
  } catch (error) {
    await undo();
    throw codeOf(error) === 'ENOENT' ? vanished(place) : await whyNot(place, last, folder, error);
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
  const name = nameAt(place, place.segments.length - 1);
  // A rename needs no permission for the file it replaces, but who made it read-only meant it.
  if (before !== undefined) await access(folder.at(name), constants.W_OK);
  const temporary = await writeTemporary(folder, bytes, before, sync);
  try {
    signal?.throwIfAborted();
    // As late as can be. What others change between this and the rename, nobody can notice.
    if (expected === undefined) await statsOf(folder, place);
    else await checkVersion(folder, place, expected);
    await rename(folder.at(temporary), folder.at(name));
  } catch (error) {
    await removeTemporary(folder, temporary);
    throw error;
  }
  if (sync) await syncFolder(folder);
}

/** Of the file that is there, if any; fails for anything else, a link too. */
async function statsOf(folder: Folder, place: Place): Promise<Stats | undefined> {
  try {
    const stats = await lstat(folder.at(nameAt(place, place.segments.length - 1)));
    checkKind(place, stats);
    return stats;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function checkVersion(folder: Folder, place: Place, expected: Version): Promise<void> {
  const file = await openIn(folder, place);
  try {
    if (file.stats.size !== expected.size) throw changed(place);
    const { version } = await readContent(file, expected.size);
    if (!isSameVersion(version, expected)) throw changed(place);
  } finally {
    await file.handle.close();
  }
}

async function syncFolder(folder: Folder): Promise<void> {
  const handle = await open(folder.at(), constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function changed({ given }: Place): WorkspaceError {
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
  const handle = await open(folder.at(name), newFlags, before === undefined ? 0o666 : 0o600);
  try {
    await folder.check(name, handle);
    await handle.writeFile(bytes);
    if (before !== undefined) await giveRights(handle, before);
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
  await unlink(folder.at(name)).catch(() => {});
}

/** Mode, and owner where this process may. Extended attributes are beyond Node's reach, and are lost. */
async function giveRights(handle: FileHandle, before: Stats): Promise<void> {
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
