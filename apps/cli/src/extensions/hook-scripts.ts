import { createHash, randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { readdir, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { isInside } from '../config/config-paths.ts';
import { findNamedScripts } from '../config/named-scripts.ts';
import type { Hook } from '../contract/extensions.ts';
import { readFileSafely } from '../safe-files.ts';

/** Maximum size of all scripts together. */
const maxScriptBytes = 64 * 1024 * 1024;
/** Maximum number of files and folders in the folders of hooks. */
const maxEntries = 20_000;

interface At {
  /** The real path of the repository root. */
  readonly root: string;
  readonly cwd: string;
}

/** The scripts that hooks of a project can start. */
export interface HookScripts {
  /**
   * The absolute paths of the scripts that commands name, of files that would run in place of a script if they
   * existed, of the folders of hooks, and of the folders that contain settings of hooks.
   */
  readonly paths: readonly string[];
  /** Changes if a script changes, appears or disappears. */
  readonly digest: string;
}

/**
 * Finds the scripts that hooks of a project can start: the files that their commands name, and all files in the
 * folders `.claude/hooks` and `.millrace/hooks`. If a file or a folder cannot be read, if the files are too large
 * or too many, if the project has too many files to search, or if a command does not show the name of its script, each
 * digest is different. The hooks then never count as unchanged.
 */
export async function readHookScripts(hooks: readonly Hook[], at: At): Promise<HookScripts> {
  const settings = hooks.map(({ file }) => dirname(file));
  if (hooks.length === 0) return { paths: [], digest: digestOf('') };
  const named = await findNamedScripts(hooks, at);
  const listed = await listHookFolders(hooks, at.root);
  const { files = [], shadows = [] } = named ?? {};
  const { folders = [], contents = [], stamps = [] } = listed ?? {};
  const digests: (readonly [path: string, digest: string])[] = [];
  let left = maxScriptBytes;
  let isComplete = named?.isUnclear === false && listed !== undefined;
  for (const path of isComplete ? new Set([...files, ...contents]) : []) {
    const bytes = await readFileSafely(path, { maxBytes: left }).then(
      (read) => read.bytes,
      () => undefined,
    );
    isComplete = bytes !== undefined;
    if (bytes === undefined) break;
    digests.push([path, digestOf(bytes)]);
    left -= bytes.length;
  }
  const paths = [...new Set([...settings, ...folders, ...files, ...shadows])];
  return { paths, digest: isComplete ? digestOf(JSON.stringify([digests, stamps])) : randomUUID() };
}

function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

interface HookFolders {
  /** The folders of hooks, and the folders that links in them name, with their real paths. */
  readonly folders: readonly string[];
  /** The files whose content counts. */
  readonly contents: readonly string[];
  /**
   * A text for each link to a folder, and for each file of a folder `node_modules`. Packages are too large to be
   * read before each hook. A file system does not let a program choose the time of the last change (`ctime`).
   */
  readonly stamps: readonly string[];
}

/** Lists all files in the folders of hooks. Returns undefined if there are too many, or a folder is unreadable. */
async function listHookFolders(
  hooks: readonly Hook[],
  root: string,
): Promise<HookFolders | undefined> {
  const parents = [...new Set(hooks.map(({ projectFolder }) => projectFolder))];
  const queue = parents.flatMap((parent) =>
    ['.claude', '.millrace'].map((name) => join(parent, name, 'hooks')),
  );
  const folders: string[] = [];
  const contents: string[] = [];
  const stamps: string[] = [];
  const visited = new Set<string>();
  let count = 0;
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    const real = await realpath(folder).catch(() => undefined);
    // The target of a link can be outside of the project. A later version of the project cannot change it.
    if (real === undefined || !isInside(real, root) || visited.has(real)) continue;
    visited.add(real);
    const isBelow = folders.some((one) => isInside(real, one));
    if (!isBelow) folders.push(folder, real);
    const entries = await readdir(folder).catch(ifNoFolder);
    if (entries === undefined) return undefined;
    count += entries.length;
    if (count > maxEntries) return undefined;
    const paths = entries.toSorted().map((name) => join(folder, name));
    const all = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
    const links = await Promise.all(paths.map((path) => readlink(path).catch(() => undefined)));
    for (const [index, path] of paths.entries()) {
      const [found, link] = [all[index], links[index]];
      if (found?.isDirectory()) {
        queue.push(path);
        if (link !== undefined) stamps.push(JSON.stringify([path, link]));
      } else if (found?.isFile()) {
        if (path.split(sep).includes('node_modules')) stamps.push(stampOf(path, found));
        else contents.push(path);
      }
    }
  }
  return { folders, contents: contents.toSorted(), stamps: stamps.toSorted() };
}

function stampOf(path: string, { ino, size, mtimeMs, ctimeMs }: Stats): string {
  return JSON.stringify([path, ino, size, mtimeMs, ctimeMs]);
}

/** A program can still open a file by its name in a folder that cannot be listed. */
function ifNoFolder({ code = '' }: NodeJS.ErrnoException): readonly never[] | undefined {
  return ['ENOENT', 'ENOTDIR'].includes(code) ? [] : undefined;
}
