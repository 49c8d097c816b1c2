import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import type { Folder } from './folder.ts';

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
