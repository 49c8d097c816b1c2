import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { LogError } from '@millrace/log';
import { databaseFiles } from '../config/config-paths.ts';

/**
 * Returns the folder of a file if other users of this machine may put files into it, such as `/tmp`. Returns undefined
 * for a folder that only this user, root and the own group of the user can write to.
 */
export function sharedFolderOf(path: string): Stats | undefined {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  const folder = statSync(dirname(path));
  const isOwn = folder.uid === user || folder.uid === 0;
  const isOfGroup = (folder.mode & 0o020) !== 0 && folder.gid !== process.getgid?.();
  return isOwn && !isOfGroup && (folder.mode & 0o002) === 0 ? undefined : folder;
}

/**
 * Throws if a file of a different user is at the path of a database, or beside it. The content of such a file can
 * replace the content of the database: SQLite copies a journal into it. Files of the owner of the folder count as own files, because containers often run as root in a folder
 * of a different user.
 */
export function assertNoForeignFiles(path: string, folder: Stats): void {
  const owners = [process.getuid?.(), 0, folder.uid];
  for (const file of databaseFiles(path)) {
    const found = lstatSync(file, { throwIfNoEntry: false });
    if (found === undefined) continue;
    if (!owners.includes(found.uid))
      throw notOwn(path, `${file} belongs to another user. Delete it`);
    if (file !== path && !found.isFile())
      throw notOwn(path, `${file} is not a regular file. Delete it`);
  }
}

/**
 * Throws if all users can write to the folder of a file. They could create a journal at any time. If the file system
 * shows that all users can write to the file itself, it has no file modes, and the folder can be private.
 */
export function assertNotForAll(path: string, folder: Stats): void {
  if ((folder.mode & 0o002) === 0 || (statSync(path).mode & 0o002) !== 0) return;
  throw notOwn(path, 'all users of this machine can write to its folder');
}

function notOwn(path: string, why: string): LogError {
  return new LogError('storage', `Cannot use the log at ${path}: ${why}`, { path });
}
