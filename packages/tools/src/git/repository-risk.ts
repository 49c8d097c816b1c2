import { access, constants, lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { isHarmlessGitConfig, remotesOf } from './git-config.ts';
import { findIndexRiskInSlices } from './git-index.ts';
import { readRegularFile } from './read-regular-file.ts';

const maxBytes = { head: 1024, config: 1_048_576, index: 134_217_728 } as const;
/** Maximum number of entries in `.git` to check. A repository with more entries counts as a risk. */
const maxEntries = 50_000;

/**
 * The kind of a git command. `reads`: it runs no hooks except `post-index-change`. `changes`: it runs hooks
 * of the repository. `connects`: it also runs hooks and may use a remote.
 */
export type GitUse = 'reads' | 'changes' | 'connects';

/**
 * Returns the reason why git could run programs of this folder's repository, or read files outside the
 * folder. Returns undefined if git uses the `.git` in this folder, and if that `.git` has no known risk. A
 * folder from an untrusted source can contain any `.git`.
 */
export async function findRepositoryRisk(
  root: string,
  use: GitUse = 'reads',
): Promise<string | undefined> {
  const own = join(root, '.git');
  const isRisky = (path: string) =>
    riskyEntries.has(path) ||
    (use !== 'reads' && isHook(path)) ||
    (use === 'connects' && isOldRemote(path));
  try {
    return (
      (await findDiscoveryRisk(own)) ??
      (await findContentRisk(own, isRisky)) ??
      ((await mayExist(join(root, '.gitmodules'))) ? 'it has submodules' : undefined) ??
      (await findConfigRisk(own, use)) ??
      (await findRiskOfIndex(own))
    );
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return `.git cannot be checked (${code})`;
  }
}

/**
 * Returns the reason why git would not accept `.git` as a repository. Git would then use the folder itself or
 * a parent folder as the repository. Git accepts a `.git` with a valid `HEAD`, and with accessible folders
 * `objects` and `refs`.
 */
async function findDiscoveryRisk(own: string): Promise<string | undefined> {
  for (const name of ['.', 'objects', 'refs']) {
    const path = join(own, name);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isDirectory() !== true) return `${join('.git', name)} is not a folder`;
    await access(path, constants.R_OK | constants.X_OK);
  }
  const head = await readRegularFile(join(own, 'HEAD'), maxBytes.head);
  return isValidHead(head?.toString('latin1')) ? undefined : '.git/HEAD is not valid';
}

function isValidHead(head: string | undefined): boolean {
  if (head === undefined) return false;
  return /^[0-9a-f]{40}\n?$/.test(head) || branchOf(head) !== undefined;
}

/** Returns the reference in a HEAD file, without `refs/`. */
export function branchOf(head: string): string | undefined {
  const name = /^ref: refs\/([^\s~^:?*[\\]+)\n?$/.exec(head)?.[1];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git allows none in a name
  const isName = name !== undefined && !/[\u0000-\u001f\u007f]|\.\.|\/\/|^\/|\/$/.test(name);
  return isName ? name : undefined;
}

/**
 * The files of `.git` that are a risk for every command. Most of them lead to a different folder with its own
 * configuration or objects. Git runs the hook when it writes the index, which can happen even in a command
 * that only reads.
 */
const riskyEntries: ReadonlySet<string> = new Set([
  'commondir',
  'config.worktree',
  'hooks/post-index-change',
  'objects/info/alternates',
  'objects/info/http-alternates',
]);
/** True for a hook of a repository. Git creates the sample hooks itself and does not run them. */
const isHook = (path: string) => path.startsWith('hooks/') && !path.endsWith('.sample');
/** True for a file in the old format of remotes. Its address may be a local folder. */
const isOldRemote = (path: string) => /^(?:remotes|branches)\//.test(path);
/** True for a large folder whose files git finds only by their hashes. */
const isStore = (path: string) => /^objects\/[0-9a-f]{2}$|^lfs$/.test(path);

/**
 * Searches `.git` for risky entries, links and devices. Through a link, git would show parts of any file or
 * of a different repository. A FIFO would block git.
 */
async function findContentRisk(
  own: string,
  isRisky: (path: string) => boolean,
): Promise<string | undefined> {
  const folders = [''];
  let count = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const entry of await opendir(join(own, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (++count > maxEntries) return '.git has too many entries';
      if (isRisky(path)) return `it has .git/${path}`;
      // The sandbox creates an empty `modules` folder to guard the path. The folder is harmless only while it
      // is empty.
      if (folder === 'modules') return 'it has .git/modules';
      if (path.startsWith('sharedindex.')) return 'the index is split into two files';
      if (!entry.isFile() && !entry.isDirectory())
        return `.git/${path} is neither a file nor a folder`;
      if (entry.isDirectory() && !isStore(path)) folders.push(path);
    }
  }
  return undefined;
}

async function findConfigRisk(own: string, use: GitUse): Promise<string | undefined> {
  const config = await readRegularFile(join(own, 'config'), maxBytes.config);
  if (config === undefined) return '.git/config cannot be read';
  return isHarmlessGitConfig(config.toString('utf8'), { connects: use === 'connects' })
    ? undefined
    : '.git/config has settings that are not known to be harmless';
}

/** True if the settings of the repository contain a remote with this name and an address. */
export async function hasRemote(root: string, name: string): Promise<boolean> {
  const config = await readRegularFile(join(root, '.git/config'), maxBytes.config);
  return remotesOf(config?.toString('utf8') ?? '').has(name);
}

async function findRiskOfIndex(own: string): Promise<string | undefined> {
  const path = join(own, 'index');
  // A new repository has no index.
  if (!(await mayExist(path))) return undefined;
  const index = await readRegularFile(path, maxBytes.index);
  return index === undefined ? '.git/index cannot be read' : findIndexRiskInSlices(index);
}

function mayExist(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}
