import { chmod, mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LogError } from '@millrace/log';

const ownerOnly = { folder: 0o700, file: 0o600 } as const;

/**
 * Makes the file and its folders if there are none, for their owner alone. What SQLite puts beside the
 * file has the file's own mode, so this comes before SQLite. What is no file, a pipe or a device, is let
 * be: to open it could take for ever, and its mode is not for us to change.
 */
export async function makePrivateFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: ownerOnly.folder });
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile() && !found.isDirectory()) throw notAFile(path);
  const file = await open(path, 'a', ownerOnly.file);
  try {
    const { mode } = await file.stat();
    if ((mode & 0o077) !== 0) await chmod(path, ownerOnly.file);
  } finally {
    await file.close();
  }
}

function notAFile(path: string): LogError {
  return new LogError('storage', `Cannot use the log at ${path}: it is no regular file`, { path });
}
