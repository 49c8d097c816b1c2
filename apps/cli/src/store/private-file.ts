import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';

const ownerOnly = { folder: 0o700, file: 0o600 } as const;

/**
 * Makes the file and its folders if there are none, for their owner alone. What SQLite puts beside the
 * file has the file's own mode, so this comes before SQLite.
 */
export async function makePrivateFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: ownerOnly.folder });
  const file = await open(path, 'a', ownerOnly.file);
  try {
    const { mode } = await file.stat();
    if ((mode & 0o077) !== 0) await chmod(path, ownerOnly.file);
  } finally {
    await file.close();
  }
}
