import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, link, lstat, mkdir, open, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/core';
import { makeFolder } from '../make-folder.ts';

/** The text of a file that only its owner should be able to read. */
export interface PrivateText {
  readonly text: string;
  /** True if the mode of the file allows other users to read or change it. */
  readonly isExposed: boolean;
}

const maxBytes = 4096;
const othersBits = 0o077;

/**
 * Reads a file that belongs to this user. If the file does not exist, creates it with mode 0600 and
 * the given text. Throws if the path is a symbolic link or not a regular file, or if a different
 * user owns it. If several processes create the file at the same time, one succeeds, and all return
 * its text.
 */
export async function readOrCreatePrivateFile(
  path: string,
  create: () => string,
): Promise<PrivateText> {
  return (
    (await readPrivateFile(path)) ?? (await createPrivateFile(path, create())) ?? vanished(path)
  );
}

/** Replaces the text of the file. */
export async function replacePrivateFile(path: string, text: string): Promise<PrivateText> {
  await unlink(path);
  return (await createPrivateFile(path, text)) ?? vanished(path);
}

/**
 * Creates the folder with mode 0700. If it exists, it must belong to this user, and its mode is
 * changed to 0700.
 */
export async function ensurePrivateFolder(path: string): Promise<void> {
  makeFolder(dirname(path));
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await lstat(path);
  if (!found.isDirectory()) throw notPrivate(path, 'it is not a folder');
  assertOwner(path, found.uid);
  if ((found.mode & othersBits) !== 0) await chmod(path, 0o700);
}

async function readPrivateFile(path: string): Promise<PrivateText | undefined> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  // Without O_NONBLOCK, a pipe at this path would block the start of the server.
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error.code === 'ELOOP' ? notPrivate(path, 'it is a symbolic link') : error;
    },
  );
  if (file === undefined) return undefined;
  try {
    const found = await file.stat();
    if (!found.isFile()) throw notPrivate(path, 'it is not a regular file');
    assertOwner(path, found.uid);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    const text = buffer.toString('utf8', 0, bytesRead).trim();
    return { text, isExposed: process.platform !== 'win32' && (found.mode & othersBits) !== 0 };
  } finally {
    await file.close();
  }
}

/**
 * Creates the file with the text. The file gets its name only when it is complete. So other
 * processes never read an incomplete file.
 */
async function createPrivateFile(path: string, text: string): Promise<PrivateText | undefined> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants;
  const temporary = `${path}.${randomBytes(8).toString('hex')}`;
  const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    await file.writeFile(`${text}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(temporary, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Some file systems do not support hard links. There, `wx` creates the file only if it does not
    // exist.
    if (code !== 'EEXIST' && code !== undefined && /^(?:EPERM|ENOTSUP|ENOSYS)$/.test(code))
      await writeFile(path, `${text}\n`, { flag: 'wx', mode: 0o600 });
    else if (code !== 'EEXIST') throw error;
  } finally {
    await unlink(temporary);
  }
  // A different process may have created the file first.
  return readPrivateFile(path);
}

function assertOwner(path: string, uid: number): void {
  const own = process.geteuid?.();
  if (own !== undefined && own !== uid) throw notPrivate(path, 'it belongs to another user');
}

function notPrivate(path: string, why: string): MillraceError {
  const message = `Cannot use ${path}: ${why}. Delete it, or choose another folder with --data <dir>`;
  return new MillraceError('not_private', message, { path });
}

function vanished(path: string): never {
  throw notPrivate(path, 'another program deletes it');
}
