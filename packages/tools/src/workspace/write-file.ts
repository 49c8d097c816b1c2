import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises';
import { errorCodeOf, WorkspaceError } from '../contract/workspace-error.ts';
import type { Folder } from './folder.ts';
import {
  checkRegularFile,
  type FileVersion,
  isFolderError,
  isSameVersion,
  openFileIn,
  readContent,
} from './open-file.ts';
import { type OpenRoot, openFolder, openOrCreateParent } from './open-folder.ts';
import { explainPathFailure, replacedError, vanishedError } from './path-failure.ts';
import { type ResolvedPath, segmentAt } from './resolve-path.ts';

/** Options of `Workspace.write`. */
export interface WriteOptions {
  /**
   * If true, the write waits until the data is on disk. The data then survives a power failure. Default:
   * false.
   */
  readonly sync?: boolean | undefined;
  /** Aborts the write before the file is replaced. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** If true, the write fails if the file exists. Default: false. */
  readonly isNew?: boolean | undefined;
  /**
   * The permission bits of the file. Default: the bits of the replaced file, or the system's default for a
   * new file.
   */
  readonly mode?: number | undefined;
  /**
   * The content that the file must have before the write. Otherwise the write fails. Default: any content.
   */
  readonly expected?: FileVersion | undefined;
}

/** Options of a write, and a check. */
export interface CheckedWriteOptions extends WriteOptions {
  /** Called immediately before the change. If it throws, nothing changes. */
  readonly check: () => void;
}

/** The result of a write. */
export interface WriteResult {
  readonly place: ResolvedPath;
  /** True if the file did not exist before. */
  readonly isNew: boolean;
}

const maxAttempts = 20;

/**
 * Writes a file atomically. It writes a temporary file in the same folder and renames it. Readers never
 * see partial content, and a failure leaves neither files nor folders behind. With `expected`, it fails
 * if the content of the file has changed.
 */
export async function writeFile(
  openRoot: OpenRoot,
  place: ResolvedPath,
  bytes: Uint8Array,
  options: CheckedWriteOptions,
): Promise<WriteResult> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await writeOnce(openRoot, place, bytes, options);
    } catch (error) {
      // A concurrent write may have created a folder on the path, failed, and removed the folder again.
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
  place: ResolvedPath,
  bytes: Uint8Array,
  { expected, ...options }: CheckedWriteOptions,
): Promise<WriteResult> {
  const last = place.segments.length - 1;
  if (last < 0) throw isFolderError(place);
  const { folder, undo, close } = await openOrCreateParent(openRoot, place);
  try {
    const before = await existingStats(folder, place);
    if (before === undefined && expected !== undefined) throw vanishedError(place);
    if (before !== undefined && options.isNew) throw existsError(place);
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

/**
 * Deletes a regular file, or a link if the path was resolved to the link itself. The parent folder stays,
 * even if it becomes empty. `check` is called immediately before, and can prevent it by throwing.
 */
export async function removeFile(
  openRoot: OpenRoot,
  place: ResolvedPath,
  check: () => void,
): Promise<void> {
  const last = place.segments.length - 1;
  if (last < 0) throw isFolderError(place);
  const folder = await openFolder(openRoot, place, last);
  const name = segmentAt(place, last);
  try {
    const stats = await lstat(folder.pathOf(name));
    if (place.linkTarget === undefined) {
      checkRegularFile(place, stats);
      // A read-only file must not be deleted, just as it must not be written.
      await access(folder.pathOf(name), constants.W_OK);
    } else if (!stats.isSymbolicLink()) throw replacedError(place);
    check();
    await unlink(folder.pathOf(name));
  } catch (error) {
    throw await explainPathFailure(place, last, folder, error);
  } finally {
    await folder.close();
  }
}

async function replace(
  folder: Folder,
  place: ResolvedPath,
  bytes: Uint8Array,
  before: Stats | undefined,
  expected: FileVersion | undefined,
  { sync = false, signal, isNew = false, mode, check }: CheckedWriteOptions,
): Promise<void> {
  const name = segmentAt(place, place.segments.length - 1);
  // A rename needs no permission for the replaced file, but a read-only file must stay unchanged.
  if (before !== undefined) await access(folder.pathOf(name), constants.W_OK);
  const temporary = await writeTemporary(folder, bytes, before, { sync, mode });
  try {
    signal?.throwIfAborted();
    check();
    // This check comes as late as possible. A change between this check and the rename cannot be detected.
    const there = expected === undefined ? await existingStats(folder, place) : undefined;
    if (there !== undefined && isNew) throw existsError(place);
    if (expected !== undefined) await checkVersion(folder, place, expected);
    await rename(folder.pathOf(temporary), folder.pathOf(name));
  } catch (error) {
    await removeTemporary(folder, temporary);
    throw error;
  }
  if (sync) await syncFolder(folder);
}

/**
 * Returns the status of the existing file. Returns undefined if the file does not exist. Throws if the path
 * is not a regular file, for example a link.
 */
async function existingStats(folder: Folder, place: ResolvedPath): Promise<Stats | undefined> {
  try {
    const stats = await lstat(folder.pathOf(segmentAt(place, place.segments.length - 1)));
    checkRegularFile(place, stats);
    return stats;
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function checkVersion(
  folder: Folder,
  place: ResolvedPath,
  expected: FileVersion,
): Promise<void> {
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

/** Returns the error for a new file whose path already exists. */
export function existsError({ given }: ResolvedPath): WorkspaceError {
  const state =
    'it exists already, and nothing was written. Change it instead, or use another path';
  return new WorkspaceError('exists', given, state);
}

/** Returns the error for a file whose content has changed. */
export function changedError({ given }: ResolvedPath): WorkspaceError {
  const state =
    'another process changed it since it was read, and nothing was written. Read it again, then repeat the change';
  return new WorkspaceError('changed', given, state);
}

const newFlags =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/**
 * Writes the bytes to a new temporary file in the same folder, with the permissions of the file that it will
 * replace. Returns the name of the temporary file.
 */
async function writeTemporary(
  folder: Folder,
  bytes: Uint8Array,
  before: Stats | undefined,
  { sync, mode }: Pick<WriteOptions, 'sync' | 'mode'>,
): Promise<string> {
  const name = `.millrace-${randomBytes(8).toString('hex')}.tmp`;
  // Other users must not read the file before it gets the permissions of the file that it replaces.
  const handle = await open(folder.pathOf(name), newFlags, before === undefined ? 0o666 : 0o600);
  try {
    await folder.check(name, handle);
    await handle.writeFile(bytes);
    if (before !== undefined) await copyPermissions(handle, before);
    if (mode !== undefined) await handle.chmod(mode & 0o777);
    if (sync) await handle.sync();
  } catch (error) {
    await removeTemporary(folder, name);
    throw error;
  } finally {
    await handle.close();
  }
  return name;
}

async function removeTemporary(folder: Folder, name: string): Promise<void> {
  await unlink(folder.pathOf(name)).catch(() => {});
}

/**
 * Copies the mode, and also the owner if this process has the right to do so. Extended attributes are lost,
 * because Node.js cannot copy them.
 */
async function copyPermissions(handle: FileHandle, before: Stats): Promise<void> {
  const { uid, gid } = await handle.stat();
  const isKept =
    (uid === before.uid && gid === before.gid) ||
    (await handle.chown(before.uid, before.gid).then(
      () => true,
      () => false,
    ));
  // If the owner changes, setuid and setgid are removed. Otherwise the program would run as a different user.
  await handle.chmod(before.mode & (isKept ? 0o7777 : 0o777));
}
