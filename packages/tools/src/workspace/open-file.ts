import { createHash, randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkspaceError } from '../contract/workspace-error.ts';
import type { Folder } from './folder.ts';
import { type OpenRoot, openFolder } from './open-folder.ts';
import { explainPathFailure, replacedError } from './path-failure.ts';
import { type ResolvedPath, segmentAt } from './resolve-path.ts';

/** A regular file of the workspace, open for reading. The caller must close it. */
export interface OpenFile {
  readonly place: ResolvedPath;
  readonly handle: FileHandle;
  readonly stats: Stats;
}

// Without O_NONBLOCK, opening a FIFO blocks until a different process writes to it.
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export async function openFile(openRoot: OpenRoot, place: ResolvedPath): Promise<OpenFile> {
  const last = place.segments.length - 1;
  if (last < 0) throw isFolderError(place);
  const folder = await openFolder(openRoot, place, last);
  try {
    return await openFileIn(folder, place);
  } catch (error) {
    throw await explainPathFailure(place, last, folder, error);
  } finally {
    await folder.close();
  }
}

/** Opens a file whose parent folder is already open. */
export async function openFileIn(folder: Folder, place: ResolvedPath): Promise<OpenFile> {
  const name = segmentAt(place, place.segments.length - 1);
  // The kind of the file is checked before opening, because opening a device may have side effects.
  checkRegularFile(place, await lstat(folder.pathOf(name)));
  const handle = await open(folder.pathOf(name), readFlags);
  try {
    await folder.check(name, handle);
    const stats = await handle.stat();
    checkRegularFile(place, stats);
    return { place, handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Opens a file and removes its name. The file disappears when its handle closes, even if this process is
 * killed.
 */
export async function openUnlinkedFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `millrace-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

/** Throws if the path is not a regular file. */
export function checkRegularFile(place: ResolvedPath, stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isSymbolicLink()) throw replacedError(place);
  if (stats.isDirectory()) throw isFolderError(place);
  const state = `it is ${kindName(stats)}, not a regular file`;
  throw new WorkspaceError('not_regular', place.given, state);
}

export function isFolderError({ given }: ResolvedPath): WorkspaceError {
  return new WorkspaceError('folder', given, 'it is a folder. Name a file in it');
}

function kindName(stats: Stats): string {
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isSocket()) return 'a socket';
  return stats.isBlockDevice() || stats.isCharacterDevice() ? 'a device' : 'something else';
}

/**
 * Identifies the content of a file. It does not include the modification time, because the time can change
 * without the content.
 */
export interface FileVersion {
  readonly size: number;
  readonly sha256: string;
}

/** The content of a file and its version. */
export interface FileContent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly version: FileVersion;
}

const chunkLength = 262_144;

/** Reads the complete file. Throws if the file is larger than `maxBytes`. */
export async function readContent(file: OpenFile, maxBytes: number): Promise<FileContent> {
  const { handle, place, stats } = file;
  if (stats.size > maxBytes) throw tooLargeError(place.given, stats.size, maxBytes);
  const chunks: Uint8Array[] = [];
  // The loop reads to the end of the file and not to its reported size, because the file may grow during the
  // read.
  for (let length = 0; ; ) {
    const chunk = new Uint8Array(Math.min(chunkLength, Math.max(stats.size - length, 0) + 1));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, length);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
    if (length > maxBytes) throw tooLargeError(place.given, length, maxBytes);
  }
  const bytes = new Uint8Array(Buffer.concat(chunks));
  return { bytes, version: versionOf(bytes) };
}

/** Returns the size and the hash of a content, which identify it. */
export function versionOf(bytes: Uint8Array): FileVersion {
  return { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/**
 * Returns the version of a file without keeping its content in memory. Throws if the file grows during the
 * read.
 */
export async function hashFile({ handle, stats, place }: OpenFile): Promise<FileVersion> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const piece of handle.createReadStream({ start: 0, autoClose: false })) {
    size += piece.length;
    if (size > stats.size) {
      const state = 'it grows while it is read. Try again when it is complete';
      throw new WorkspaceError('changed', place.given, state);
    }
    hash.update(piece);
  }
  return { size, sha256: hash.digest('hex') };
}

export function isSameVersion(a: FileVersion, b: FileVersion): boolean {
  return a.size === b.size && a.sha256 === b.sha256;
}

/**
 * Returns the text for the state of a file that a person saw (`basis`). `version` is undefined if the file does not
 * exist. `linkTarget` is set if the path is a symbolic link itself.
 */
export function basisOf(version: FileVersion | undefined, linkTarget?: string): string {
  if (linkTarget !== undefined)
    return `link:${createHash('sha256').update(linkTarget).digest('hex')}`;
  return version === undefined ? 'absent' : `sha256:${version.sha256}`;
}

/** Throws if the state of a file is not the state that the user saw when the user allowed the call. */
export function assertBasis(
  { given, linkTarget }: ResolvedPath,
  basis: string | undefined,
  version: FileVersion | undefined,
): void {
  if (basis === undefined || basisOf(version, linkTarget) === basis) return;
  const state =
    'it changed after the user saw this change, and nothing was done. Read it again, then make the call again';
  throw new WorkspaceError('changed', given, state);
}

/**
 * Throws if the file is not in the state that the user saw (`basis`). Returns write options. With them, the write fails
 * if the state changes later.
 */
export async function checkBasis(
  place: ResolvedPath,
  basis: string | undefined,
  open: (place: ResolvedPath) => Promise<OpenFile>,
): Promise<{ readonly isNew?: true; readonly expected?: FileVersion }> {
  if (basis === undefined) return {};
  const version = place.linkTarget === undefined ? await versionAt(place, open) : undefined;
  assertBasis(place, basis, version);
  return version === undefined ? { isNew: true } : { expected: version };
}

/** Returns the version of a file. Returns undefined if the file does not exist. */
async function versionAt(
  place: ResolvedPath,
  open: (place: ResolvedPath) => Promise<OpenFile>,
): Promise<FileVersion | undefined> {
  const file = await open(place).catch((error: unknown) => {
    if (error instanceof WorkspaceError && error.code === 'not_found') return undefined;
    throw error;
  });
  try {
    return file && (await hashFile(file));
  } finally {
    await file?.handle.close();
  }
}

function tooLargeError(path: string, size: number, maxBytes: number): WorkspaceError {
  const state = `it has ${size} bytes, and at most ${maxBytes} can be read at once`;
  return new WorkspaceError('too_large', path, state);
}
