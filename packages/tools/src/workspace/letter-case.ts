import { lstatSync, opendirSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** The functions of the file system that a check uses. */
export interface FileNames {
  readonly exists: (path: string) => boolean;
  /** Returns the names in a folder, in no order. With `max`, it returns only some of them. */
  readonly namesIn: (folder: string, max?: number) => readonly string[];
}

const namesOfSystem: FileNames = {
  exists(path) {
    try {
      return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    } catch {
      return false;
    }
  },
  namesIn(folder, max) {
    try {
      return max === undefined ? readdirSync(folder) : firstNames(folder, max);
    } catch {
      // The folder does not exist, or this user cannot list it.
      return [];
    }
  },
};

function firstNames(folder: string, max: number): readonly string[] {
  const names: string[] = [];
  const entries = opendirSync(folder);
  try {
    while (names.length < max) {
      const entry = entries.readSync();
      if (entry === null) break;
      names.push(entry.name);
    }
  } finally {
    entries.closeSync();
  }
  return names;
}

/**
 * True if a different spelling of the last name of a path leads to the same file. If the file system ignores the
 * letter case, `.ENV` is the same file as `.env`. Shared folders often ignore it: drives of Windows in WSL, folders of
 * macOS in a container, and SMB. Some file systems also ignore the form of accented letters.
 */
export function hasOtherSpelling(path: string, files: FileNames = namesOfSystem): boolean {
  const folder = dirname(path);
  const others = spellingsOf(basename(path)).filter((other) => files.exists(join(folder, other)));
  if (others.length === 0 || !files.exists(path)) return false;
  // Two different files can have two spellings of a name. Then the folder lists both.
  const names = new Set(files.namesIn(folder));
  return others.some((other) => !names.has(other));
}

/** Maximum number of names that a check reads to find one with a letter. */
const maxNames = 32;

/** True if a folder ignores the letter case of the names in it. If it is empty, its own name decides. */
export function ignoresCase(folder: string, files: FileNames = namesOfSystem): boolean {
  const name = files.namesIn(folder, maxNames).find((one) => spellingsOf(one).length > 0);
  return hasOtherSpelling(name === undefined ? folder : join(folder, name), files);
}

/** Returns other spellings of a name. */
export function spellingsOf(name: string): readonly string[] {
  const upper = name.toUpperCase();
  const other = upper === name ? name.toLowerCase() : upper;
  const all = [other, name.normalize('NFC'), name.normalize('NFD')];
  return [...new Set(all)].filter((one) => one !== name);
}
