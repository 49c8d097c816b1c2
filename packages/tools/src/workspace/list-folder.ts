import type { Stats } from 'node:fs';
import { lstat, opendir, readlink } from 'node:fs/promises';
import { fromSystemError } from '../contract/workspace-error.ts';
import type { Folder } from './folder.ts';
import { type OpenRoot, openFolder } from './open-folder.ts';
import type { ResolvedPath } from './resolve-path.ts';

/** An entry of a folder. */
export interface FolderEntry {
  /**
   * The name. Bytes that are not UTF-8 appear as U+FFFD. A name with this character cannot be used as a path.
   */
  readonly name: string;
  readonly kind: 'folder' | 'file' | 'link' | 'other';
  /** The size in bytes. It has a meaning only for files. */
  readonly size: number;
  /** The target of a link, as stored in the link. */
  readonly target?: string;
}

/** The entries of a folder. */
export interface FolderListing {
  readonly place: ResolvedPath;
  /** The entries in the order of the file system. */
  readonly entries: readonly FolderEntry[];
  /** True if the folder has more entries than requested. */
  readonly isCut: boolean;
}

export async function listFolder(
  openRoot: OpenRoot,
  place: ResolvedPath,
  maxEntries: number,
): Promise<FolderListing> {
  const folder = await openFolder(openRoot, place, place.segments.length);
  try {
    const names = await readNames(folder, maxEntries + 1);
    const entries: FolderEntry[] = [];
    for (const name of names.slice(0, maxEntries)) {
      const entry = await entryOf(folder, name);
      if (entry !== undefined) entries.push(entry);
    }
    return { place, entries, isCut: names.length > maxEntries };
  } catch (error) {
    throw fromSystemError(place.given, error);
  } finally {
    await folder.close();
  }
}

/**
 * Returns the names of the entries as bytes, because names may not be valid UTF-8. Latin-1 preserves each
 * byte.
 */
async function readNames(folder: Folder, max: number): Promise<readonly Buffer[]> {
  const names: Buffer[] = [];
  for await (const { name } of await opendir(folder.pathOf(), { encoding: 'latin1' })) {
    names.push(Buffer.from(name, 'latin1'));
    if (names.length >= max) break;
  }
  return names;
}

/** Returns the entry with this name. Returns undefined if it was removed in the meantime. */
async function entryOf(folder: Folder, name: Buffer): Promise<FolderEntry | undefined> {
  const path = Buffer.concat([Buffer.from(`${folder.pathOf()}/`), name]);
  const stats = await lstat(path).catch(() => undefined);
  if (stats === undefined) return undefined;
  const kind = kindOf(stats);
  const target = kind === 'link' ? await readlink(path).catch(() => '?') : undefined;
  const shown = { name: name.toString('utf8'), kind, size: stats.size };
  return { ...shown, ...(target === undefined ? {} : { target }) };
}

function kindOf(stats: Stats): FolderEntry['kind'] {
  if (stats.isDirectory()) return 'folder';
  if (stats.isFile()) return 'file';
  return stats.isSymbolicLink() ? 'link' : 'other';
}
