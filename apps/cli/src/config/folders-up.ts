import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

// Deeper than any path that a system takes.
const maxDepth = 1000;

/** A folder and those above it up to its repository's root; itself alone where there is no repository. */
export async function foldersUpToRoot(folder: string): Promise<readonly string[]> {
  const folders = [folder];
  for (let at = folder; folders.length < maxDepth; folders.push(at)) {
    if (await isThere(join(at, '.git'))) return folders;
    const above = dirname(at);
    if (above === at) break;
    at = above;
  }
  return [folder];
}

/** In a work tree `.git` is a file. */
async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
