import { opendir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { lexicalPath } from '../../workspace/match-path.ts';
import { secretProtection } from '../home-protection.ts';
import type { ReadPath } from './read-only-command.ts';

interface FindSecretOptions {
  readonly root: string;
  /** Whether the search leaves out names that start with a dot. */
  readonly skipsHidden?: boolean | undefined;
  /** Returns true if tools may read a path without asking. */
  readonly mayRead: (path: ReadPath) => boolean;
}

/** The folder of installed packages. They are published, so the keys in them are test keys. */
const publishedFolder = 'node_modules';

/**
 * Maximum number of entries that are checked, because checking takes time. A search of more entries needs
 * an approval.
 */
const maxEntries = 50_000;

/**
 * The errors after which a folder is skipped. A program cannot read what this process cannot read. A file
 * has no entries, and a removed folder has none either.
 */
const unlisted: ReadonlySet<string | undefined> = new Set(['EACCES', 'ENOTDIR', 'ENOENT']);

/**
 * Returns the reason to ask before a program reads all files below a path. One of them looks like a
 * secret, or there are too many to check. Like the programs, it does not follow links. Returns undefined
 * for a file, because the caller checks it.
 */
export async function findSecretBelow(
  real: string,
  { root, skipsHidden = false, mayRead }: FindSecretOptions,
): Promise<string | undefined> {
  const folders = [real];
  const shownPath = (path: string) => relative(root, path).split(sep).join('/');
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const listed = await opendir(folder).catch((error: NodeJS.ErrnoException) => error);
    if (listed instanceof Error) {
      if (unlisted.has(listed.code)) continue;
      return `The search would read ${shownPath(folder)}, which cannot be checked for secrets`;
    }
    for await (const entry of listed) {
      if (++entries > maxEntries)
        return `The search would read more than ${maxEntries} files, and some may be secret`;
      const path = join(folder, entry.name);
      if (skipsHidden && entry.name.startsWith('.')) continue;
      // The name has bytes that are not valid text, so the path would not lead to the file.
      if (entry.name.includes('\uFFFD'))
        return `The search would read ${shownPath(path)}, whose name cannot be checked`;
      if (entry.isDirectory() && entry.name !== publishedFolder) folders.push(path);
      if (!entry.isFile() || secretProtection(lexicalPath(root, path)) === undefined) continue;
      if (mayRead({ path, kind: 'read' }) || (await isHarmlessGitFile(path))) continue;
      return `The search would read ${shownPath(path)}, which looks like a secret. The tool grep leaves it out`;
    }
  }
  return undefined;
}

/**
 * True for a git configuration without a password. Almost every workspace has a `.git/config`, and it is
 * a secret only if it contains one.
 */
async function isHarmlessGitFile(path: string): Promise<boolean> {
  if (!path.endsWith(`${sep}config`) || !path.includes(`${sep}.git${sep}`)) return false;
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text !== undefined && !/:\/\/[^\s/]*@|header|token|password|secret/i.test(text);
}
