import { lstat, opendir } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { isGitConfigWithoutSecrets } from '../../git/git-config.ts';
import { readRegularFile } from '../../git/read-regular-file.ts';
import { lexicalPath } from '../../workspace/match-path.ts';
import { secretProtection } from '../home-protection.ts';
import type { ReadPath } from './read-only-command.ts';

interface FindSecretOptions {
  readonly root: string;
  /**
   * True if the search omits names that start with a dot. An ignore file can still include such names, for
   * example with the line `!.env`.
   */
  readonly skipsHidden?: boolean | undefined;
  /** Returns true if tools may read a path without asking. */
  readonly mayRead: (path: ReadPath) => boolean;
}

/** The folder of installed packages. Packages are published, so keys in them are only test keys. */
const publishedFolder = 'node_modules';

/**
 * Maximum number of entries to check, because each check takes time. A search of more entries needs an
 * approval.
 */
const maxEntries = 50_000;

/**
 * The errors after which a folder is skipped. A program cannot read entries that this process cannot read. A
 * file or a removed folder has no entries.
 */
const unlisted: ReadonlySet<string | undefined> = new Set(['EACCES', 'ENOTDIR', 'ENOENT']);

/**
 * Returns the reason to ask before a program reads all files below a path: one of them looks like a secret,
 * or there are too many to check. It does not follow links, and neither do the programs. Returns undefined
 * for a file, because the caller checks it.
 */
export async function findSecretBelow(
  real: string,
  options: FindSecretOptions,
): Promise<string | undefined> {
  const { skipsHidden = false } = options;
  const isHidden = skipsHidden && !(await hasExceptionAbove(real));
  const risk = await findRisk(real, { ...options, skipsHidden: isHidden });
  return risk === includesHidden ? findRisk(real, { ...options, skipsHidden: false }) : risk;
}

/** The result of a walk that found an ignore file which may include hidden files. */
const includesHidden = 'An ignore file may include hidden files';

async function findRisk(
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
      if (skipsHidden && entry.name.startsWith('.')) {
        if (await hasException(folder, entry.name)) return includesHidden;
        continue;
      }
      // The name contains bytes that are not valid UTF-8, so the path does not lead to the file.
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
 * The files with ignore patterns that ripgrep reads, by the name of the entry in a folder. Ripgrep reads these
 * files in each searched folder and in all folders above it.
 */
const ignoreFiles: ReadonlyMap<string, string> = new Map([
  ['.gitignore', '.gitignore'],
  ['.ignore', '.ignore'],
  ['.rgignore', '.rgignore'],
  ['.git', join('.git', 'info', 'exclude')],
]);

const maxIgnoreBytes = 1_000_000;
const maxConfigBytes = 1_048_576;

/** True if a folder above the searched path has an ignore file with an exception. */
async function hasExceptionAbove(real: string): Promise<boolean> {
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    for (const name of ignoreFiles.keys()) if (await hasException(folder, name)) return true;
    if (folder === dirname(folder)) return false;
  }
}

/**
 * True if an ignore file may have an exception, which is a line with `!`. Ripgrep searches hidden files that
 * match an exception. A file that cannot be checked counts as a file with an exception.
 */
async function hasException(folder: string, name: string): Promise<boolean> {
  // The file system may ignore letter case.
  const file = ignoreFiles.get(name.toLowerCase());
  if (file === undefined) return false;
  const path = join(folder, file);
  try {
    await lstat(path);
    const content = await readRegularFile(path, maxIgnoreBytes);
    return content === undefined || /^\uFEFF?!/m.test(content.toString('utf8'));
  } catch (error) {
    // If `.git` is a file, the repository is in a different folder.
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

/**
 * True for a git configuration that has only known settings without secrets. Almost every workspace has a
 * `.git/config`.
 */
async function isHarmlessGitFile(path: string): Promise<boolean> {
  if (!path.endsWith(`${sep}config`) || !path.includes(`${sep}.git${sep}`)) return false;
  const content = await readRegularFile(path, maxConfigBytes);
  return content !== undefined && isGitConfigWithoutSecrets(content.toString('utf8'));
}
