import { readdirSync } from 'node:fs';
import { bytePath, repositoryKinds } from './read-folder.ts';

/**
 * True if the folder contains a repository, contains too many folders, or cannot be read. With `findsLinks`, also if it
 * contains an entry that is neither a file nor a folder.
 */
export function hasRepository(top: Buffer, maxFolders: number, findsLinks = false): boolean {
  const folders = [top];
  try {
    for (const path of folders) {
      const entries = readdirSync(path, { withFileTypes: true, encoding: 'buffer' });
      const names = entries.map(({ name }) => name.toString('latin1'));
      const { isBare, hasGit } = repositoryKinds(names);
      if (hasGit || isBare) return true;
      for (const entry of entries) {
        if (entry.isDirectory()) folders.push(bytePath(path, entry.name));
        else if (findsLinks && !entry.isFile()) return true;
      }
      if (folders.length > maxFolders) return true;
    }
    return false;
  } catch {
    return true;
  }
}
