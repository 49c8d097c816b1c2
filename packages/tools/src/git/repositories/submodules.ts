import { isUtf8 } from 'node:buffer';
import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { entryOf } from '../../workspace/real-form.ts';
import { readRegularFileSync } from '../read-regular-file.ts';

/** Maximum size of a `.git` file, in bytes. Git refuses a larger file. */
const maxPointerBytes = 1_048_576;
const maxPathBytes = 4096;

/** A folder whose path is in a file of git. */
interface NamedFolder {
  /** The absolute path, as the file names it. */
  readonly path: string;
  /** The real path. Undefined if the folder does not exist. */
  readonly real: string | undefined;
}

/** `unclear` means that git may use a different folder than the one that this code reads. */
type ReadFolderName = NamedFolder | 'unclear' | undefined;

/**
 * Returns the git folder of a worktree. Its `.git` is this folder, a link to it, or a file with its path. Returns
 * undefined if there is no repository, or if git refuses the file. An attacker may have written the file.
 */
export function readGitFolder(worktree: string): ReadFolderName {
  const git = join(worktree, '.git');
  const entry = entryOf(git);
  if (entry === undefined) return undefined;
  const at = entry.isSymbolicLink() ? realPath(git) : git;
  if (at === undefined) return undefined;
  if (entryOf(at)?.isDirectory()) return { path: git, real: at };
  const content = readRegularFileSync(at, maxPointerBytes);
  if (content === undefined) return 'unclear';
  const prefix = 'gitdir: ';
  const bytes = withoutLineBreak(content);
  if (bytes.toString('latin1', 0, prefix.length) !== prefix || bytes.length === prefix.length)
    return undefined;
  return readPath(worktree, bytes.subarray(prefix.length));
}

/**
 * Returns the folder with the settings and hooks of a git folder, if its file `commondir` names one. The git folder
 * of a linked worktree has this file.
 */
export function readCommonFolder(git: string): ReadFolderName {
  const file = join(git, 'commondir');
  if (entryOf(file) === undefined) return undefined;
  const content = readRegularFileSync(file, maxPathBytes);
  return content === undefined ? 'unclear' : readPath(git, withoutLineBreak(content));
}

function withoutLineBreak(content: Buffer): Buffer {
  let end = content.length;
  while (end > 0 && (content[end - 1] === 0x0a || content[end - 1] === 0x0d)) end--;
  return content.subarray(0, end);
}

/** Reads a path that is relative to a folder. A path with unusual characters, or with spaces around it, is unclear. */
function readPath(folder: string, bytes: Buffer): NamedFolder | 'unclear' {
  const name = bytes.toString('utf8');
  const isPlain = isUtf8(bytes) && bytes.every((byte) => byte >= 0x20 && byte !== 0x7f);
  if (!isPlain || name.trim() !== name || bytes.length > maxPathBytes) return 'unclear';
  const written = name.startsWith('/') ? name : `${folder}/${name}`;
  // `resolve` removes `..` from the text, but the kernel follows a link before it applies the next `..`.
  const [path, real] = [resolve(written), realPath(written)];
  return real === realPath(path) ? { path, real } : 'unclear';
}

/** Returns the real path of the git folder of a worktree. Returns undefined if it does not exist or is unclear. */
export function gitFolderOf(worktree: string): string | undefined {
  const folder = readGitFolder(worktree);
  return folder === 'unclear' ? undefined : folder?.real;
}

/** Returns the real path of the folder with the settings, hooks and objects of a git folder. */
export function commonFolderOf(git: string): string {
  const common = readCommonFolder(git);
  return common === undefined || common === 'unclear' ? git : (common.real ?? common.path);
}

/** Resolves a path in the same way as the kernel. Returns undefined if the path does not exist. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** Maximum number of folders with objects that a repository uses, and maximum size of a list of them, in bytes. */
const [maxStores, maxListBytes] = [100, 65_536];

/**
 * Returns the folders in which a repository finds further objects. Each of them can name more. They may not exist. Throws a
 * `SandboxError` if there are too many.
 */
export function alternatesOf(git: string): readonly string[] {
  const stores = new Set([join(git, 'objects')]);
  for (const store of stores) {
    const list = join(store, 'info/alternates');
    const text = entryOf(list) && readRegularFileSync(realPath(list) ?? list, maxListBytes);
    for (const line of text?.toString('utf8').split('\n') ?? []) {
      if (line === '' || line.startsWith('#')) continue;
      const written = resolve(store, line);
      for (const path of [written, realPath(written) ?? written]) stores.add(path);
    }
    if (stores.size > maxStores) throw tooManyStores(list);
  }
  return [...stores].slice(1);
}

function tooManyStores(path: string): SandboxError {
  const message = `Cannot protect the objects of git to which ${path} leads: there are more than ${maxStores} folders. Run git repack -a -d, and remove the file`;
  return new SandboxError('cannot_confine', message, { path });
}
