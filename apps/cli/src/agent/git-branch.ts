import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { foldersUpToRoot } from '../config/folders-up.ts';

/** The branch that a folder is on; undefined where there is no repository, or no branch is checked out. */
export async function gitBranch(cwd: string): Promise<string | undefined> {
  const root = (await foldersUpToRoot(cwd)).at(-1) ?? cwd;
  const folder = await gitFolder(root);
  const head = await readFile(join(folder, 'HEAD'), 'utf8').catch(() => '');
  return /^ref: refs\/heads\/(\S{1,200})\s*$/.exec(head)?.[1];
}

/** In a work tree `.git` is a file that says where the folder is. */
async function gitFolder(root: string): Promise<string> {
  const path = join(root, '.git');
  const link = await readFile(path, 'utf8').catch(() => '');
  const target = /^gitdir: (.+)$/m.exec(link)?.[1];
  return target === undefined ? path : resolve(root, target.trim());
}
