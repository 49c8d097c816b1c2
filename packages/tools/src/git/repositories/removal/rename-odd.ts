import { isUtf8 } from 'node:buffer';
import { readdirSync, renameSync } from 'node:fs';
import { keptNames } from '../../../workspace/kept-names.ts';
import { bytePath } from '../read-folder.ts';

/** Maximum number of folders in a folder whose name is not valid UTF-8. */
const maxOddFolders = 50_000;

/**
 * Renames an entry whose name is not valid UTF-8, and all such folders in it, so that the next search finds their
 * repositories. Returns the new name.
 */
export function renameOdd(parent: string, name: Buffer, prefix = ''): string {
  const folders: { readonly parent: Buffer; readonly name: Buffer }[] = [
    { parent: Buffer.from(parent), name },
  ];
  for (const { parent: above, name: own } of folders) {
    if (folders.length > maxOddFolders) break;
    folders.push(...foldersIn(bytePath(above, own)));
  }
  let away = '';
  for (const folder of folders.toReversed()) {
    if (isUtf8(folder.name)) continue;
    const text = folder.name.toString('latin1').replace(/[^\w.-]/g, '_');
    away = keptNames(prefix + text)[1];
    renameSync(bytePath(folder.parent, folder.name), bytePath(folder.parent, Buffer.from(away)));
  }
  return away;
}

function foldersIn(path: Buffer): readonly { readonly parent: Buffer; readonly name: Buffer }[] {
  try {
    return readdirSync(path, { withFileTypes: true, encoding: 'buffer' })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => ({ parent: path, name }));
  } catch {
    // It is no folder, or the next search makes it readable.
    return [];
  }
}
