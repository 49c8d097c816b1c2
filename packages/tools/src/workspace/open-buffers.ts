import { lstat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkspaceError } from '../contract/workspace-error.ts';
import { decodeText, encodeText, type TextFile, withoutCrlf } from '../files/text-file.ts';
import {
  isSameVersion,
  type OpenFile,
  openUnlinkedFile,
  readContent,
  versionOf,
} from './open-file.ts';
import type { ResolvedPath } from './resolve-path.ts';
import { type CheckedWriteOptions, changedError, existsError } from './write-file.ts';

/**
 * The files that are open in an editor. Their text can have changes that are not saved yet. A workspace
 * checks each path before it uses the editor, and it uses the editor only for files with unsaved changes.
 */
export interface OpenBuffers {
  /**
   * Returns the text of a file as the editor shows it. `path` is a real path. Returns undefined if the
   * editor cannot read the file.
   */
  read(path: string): Promise<string | undefined>;
  /**
   * Replaces the text of a file in the editor and saves it. Default: files with unsaved changes cannot be
   * written.
   */
  readonly write?: ((path: string, text: string) => Promise<void>) | undefined;
}

/** Maximum size of a file that is compared with its text in the editor, in bytes. */
const maxBufferBytes = 10_000_000;

/**
 * Returns the text of a file in the editor as bytes, with the line endings of the file. Returns undefined
 * if the editor shows the content of the file, or if it cannot read the file.
 */
export async function unsavedBytes(
  buffers: OpenBuffers | undefined,
  file: OpenFile,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (buffers === undefined || file.stats.size > maxBufferBytes) return undefined;
  const { bytes } = await readContent(file, maxBufferBytes);
  const saved = decodeText(bytes);
  if (saved === undefined) return undefined;
  const shown = await shownText(buffers, file.place);
  if (shown === undefined || shown.length > maxBufferBytes || !shown.isWellFormed())
    return undefined;
  // Editors show texts without a byte order mark, and many show all line endings as `\n`.
  const text = withoutCrlf(shown.replace(/^\ufeff/, ''));
  if (text === saved.text) return undefined;
  return new Uint8Array(encodeText(withText(saved, text)));
}

/** The maximum number of times that the text is read. It is read again if a folder on the path changed. */
const maxAttempts = 5;
/**
 * The time, in milliseconds, for which a changed folder counts as unsteady. Within this time, another change
 * may leave the folder's modification time as it is.
 */
const steadyMs = 100;

/**
 * Reads the text that the editor shows. The editor opens a file by its path, so a different process could
 * put a link in its place for a moment. Such a change alters the time of the folder, and then the text is
 * not used.
 */
async function shownText(buffers: OpenBuffers, place: ResolvedPath): Promise<string | undefined> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const before = await steadyFolders(place);
    if (before !== undefined) {
      const text = await buffers.read(place.real).catch(() => undefined);
      if (text === undefined || (await steadyFolders(place)) === before) return text;
    }
    await sleep(steadyMs * 1.2);
  }
  return undefined;
}

/**
 * Returns a text that identifies the folders on a path and the times of their last change. Returns undefined
 * if one of them is not a folder or has just changed.
 */
async function steadyFolders({ real, segments }: ResolvedPath): Promise<string | undefined> {
  const root = resolve(real, ...segments.map(() => '..'));
  const paths = segments.map((_, index) => join(root, ...segments.slice(0, index)));
  const all = await Promise.all(paths.map((path) => lstat(path, { bigint: true }))).catch(
    () => undefined,
  );
  const isSteady = all?.every(
    (stats) => stats.isDirectory() && Number(stats.ctimeMs) + steadyMs < Date.now(),
  );
  if (!isSteady) return undefined;
  return all?.map(({ dev, ino, ctimeNs }) => `${dev} ${ino} ${ctimeNs}`).join('\n');
}

function withText(saved: TextFile, text: string): TextFile {
  const crlf = saved.isCrlf.filter(Boolean).length * 2 > saved.isCrlf.length;
  const isCrlf = Array<boolean>(text.split('\n').length - 1).fill(crlf);
  return { ...saved, text, isCrlf };
}

/** Opens a file with the text that the editor shows. The caller must close the result. */
export async function openBuffer(
  buffers: OpenBuffers | undefined,
  file: OpenFile,
): Promise<OpenFile> {
  if (buffers === undefined) return file;
  try {
    const bytes = await unsavedBytes(buffers, file);
    if (bytes === undefined) return file;
    const handle = await openUnlinkedFile();
    await handle.write(bytes, 0, bytes.length, 0);
    const stats = Object.assign(Object.create(Object.getPrototypeOf(file.stats)), file.stats);
    await file.handle.close();
    return { place: file.place, handle, stats: Object.assign(stats, { size: bytes.length }) };
  } catch (error) {
    await file.handle.close();
    throw error;
  }
}

/**
 * Writes a file that has unsaved changes in the editor. `unsaved` is the content that the caller read. It
 * fails if the content in the editor has changed since then.
 */
export async function writeBuffer(
  buffers: OpenBuffers,
  place: ResolvedPath,
  bytes: Uint8Array,
  unsaved: Uint8Array,
  { expected, isNew, signal, check }: CheckedWriteOptions,
): Promise<void> {
  if (isNew) throw existsError(place);
  if (expected !== undefined && !isSameVersion(expected, versionOf(unsaved)))
    throw changedError(place);
  const text = decodeText(bytes) && new TextDecoder('utf-8').decode(bytes);
  if (buffers.write === undefined || text === undefined) throw unsavedError(place);
  signal?.throwIfAborted();
  check();
  await buffers.write(place.real, text);
}

function unsavedError({ given }: ResolvedPath): WorkspaceError {
  const state =
    'it has unsaved changes in the editor, and nothing was written. Ask the user to save it';
  return new WorkspaceError('changed', given, state);
}
