import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { AgentError } from '@millrace/agent';
import { errorCodeOf, WorkspaceError } from '../contract/workspace-error.ts';
import { TrackedFiles } from '../git/repositories/tracked-files.ts';
import { findRepositoryRisk } from '../git/repository-risk.ts';
import { findRepositoryRoot, runGit } from '../git/run-git.ts';
import { assertKnownOptions } from '../known-options.ts';
import {
  type FileCopies,
  type FolderScan,
  makeFolder,
  openFileCopies,
} from '../rewind/file-copies.ts';
import { scanFolder } from '../rewind/folder-scan.ts';
import { createWorkspace, type Workspace } from '../workspace/workspace.ts';
import { type MergeOptions, type MergeReport, mergeFolder } from './merge-folder.ts';
import { withMergeLock } from './merge-lock.ts';

/** Options of `openWorktrees`. */
export interface WorktreesOptions {
  /** The folder whose copies are created. It must be in a git repository with at least one commit. */
  readonly workspace: Workspace;
  /** The folder for the worktrees. It must be outside of the repository. */
  readonly folder: string;
  /** The folder that stores how the files were when a worktree was created. Commands must not change it. */
  readonly copies: string;
  /** The environment of the user, for git. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * True for a path, relative to the workspace, that is not copied if it is not committed. Default: all files
   * are copied.
   */
  readonly omits?: ((path: string) => boolean) | undefined;
  /** Maximum number of worktrees that are in use at the same time. Further calls wait. Default: 4. */
  readonly maxOpen?: number | undefined;
  /** Maximum number of worktrees of the repository that exist in `folder`. Default: 32. */
  readonly maxKept?: number | undefined;
}

/** Creates git worktrees for sub-agents. */
export interface Worktrees {
  /**
   * Creates a worktree with the files as they are now, also with changes that are not committed. Files that
   * git ignores, and links that are not committed, are not copied. If a worktree with this id exists, it is opened again with its changes.
   * Rejects if the folder cannot have one.
   */
  open(id: string, signal?: AbortSignal): Promise<Worktree>;
}

/** A copy of a folder, with its own files. */
export interface Worktree {
  /** The folder in the worktree that has the same place in the repository as the workspace. */
  readonly root: string;
  /**
   * Merges the changes into the workspace, and removes the worktree if everything is merged. If a file cannot
   * be merged, the file in the workspace stays as it is, and the worktree stays too. Merges into a repository
   * run one after the other, even if different programs with the same `folder` merge.
   */
  merge(into: Workspace, options?: WorktreeMergeOptions): Promise<WorktreeReport>;
  /** Removes the worktree if it has no changes. Otherwise it stays. */
  discard(): Promise<WorktreeReport>;
  /** Lets a waiting call open its worktree. Deletes nothing. */
  release(): void;
}

/** Options of `Worktree.merge`. */
export interface WorktreeMergeOptions extends Pick<MergeOptions, 'refusalOf'> {
  /** Ends the wait for the merge of another program. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a merge, and whether the worktree still exists. */
export interface WorktreeReport extends MergeReport {
  /** The folder of the worktree. Undefined if the worktree is removed. */
  readonly kept: string | undefined;
}

const limits = { maxFiles: 20_000, maxFileBytes: 4_194_304, maxTotalBytes: 268_435_456 };
/** Maximum number of files that differ from the last commit when a worktree is created. */
const maxUncommitted = 5000;
const addTimeoutMs = 120_000;

/**
 * Opens the worktrees of a folder.
 *
 * @example
 * const worktrees = openWorktrees({ workspace, folder, copies, env: process.env });
 * const worktree = await worktrees.open('task-1');
 * const { conflicts } = await worktree.merge(workspace);
 */
export function openWorktrees(options: WorktreesOptions): Worktrees {
  assertKnownOptions('openWorktrees', options, {
    ...{ workspace: true, folder: true, copies: true, env: true, omits: true },
    ...{ maxOpen: true, maxKept: true },
  });
  const { maxOpen = 4 } = options;
  const turns = new Turns(maxOpen);
  // One merge at a time: a merge decides by the files that it finds in the workspace. `withMergeLock` waits for
  // other programs.
  const merges = new Turns(1);
  return {
    async open(id, signal) {
      const release = await turns.take(signal);
      try {
        const worktree = await openWorktree(id, options);
        const merge: Worktree['merge'] = async (...given) => {
          const end = await merges.take(undefined);
          return worktree.merge(...given).finally(end);
        };
        return { ...worktree, merge, release };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

/** True if a folder is in a git repository. `Worktrees.open` can still refuse the repository. */
export async function canHaveWorktrees(root: string): Promise<boolean> {
  return (await findRepositoryRoot(root)) !== undefined;
}

/** Lets a limited number of callers continue. The others wait in order. */
class Turns {
  readonly #max: number;
  #taken = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  async take(signal: AbortSignal | undefined): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#taken >= this.#max) await this.#wait(signal);
    else this.#taken++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken--;
      else next();
    };
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      const at = this.#waiting.indexOf(start);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      reject(signal?.reason);
    };
    const start = () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    this.#waiting.push(start);
    signal?.addEventListener('abort', abort, { once: true });
    return promise;
  }
}

/** The file beside a worktree that describes it. The file exists only when the worktree is complete. */
interface Note {
  readonly repository: string;
}

async function openWorktree(
  id: string,
  options: WorktreesOptions,
): Promise<Omit<Worktree, 'release'>> {
  const { workspace, folder, copies: place, env, maxKept = 32 } = options;
  const repository = await repositoryOf(workspace.root);
  makeFolder(folder);
  const name = `millrace-${createHash('sha256').update(id).digest('hex').slice(0, 16)}`;
  const path = join(await realpath(folder), name);
  const notePath = `${path}.json`;
  const below = relative(repository, workspace.root);
  const root = join(path, below);
  const git = (words: readonly string[]) =>
    runGit(words, { cwd: repository, env, timeoutMs: addTimeoutMs });
  const remove = async () => {
    // The note is deleted first. After a crash, files that are already deleted must not count as changes.
    await rm(notePath, { force: true });
    await git(['worktree', 'remove', '--force', path]);
    await rm(path, { recursive: true, force: true });
  };
  const copies = () => openFileCopies(place, root);
  if ((await readNote(notePath))?.repository !== repository) {
    // A process that died has not finished the worktree, so no agent has worked in it.
    await remove();
    const kept = await countKept(dirname(path), repository);
    if (kept >= maxKept) throw tooManyError(folder, kept);
    const added = await git(['worktree', 'add', '--detach', '--quiet', path, 'HEAD']);
    if (added === undefined) throw noWorktreeError(workspace.root, await reasonOf(repository));
    try {
      await makeFolders(path, below);
    } catch (error) {
      await remove();
      throw error;
    }
    await copyUncommitted(createWorkspace({ root }), options);
    await withCopies(copies(), async (store) => store.save(await scan(root, new Map(), store)));
    await writeNote(notePath, { repository });
  }
  await makeFolders(path, below);
  const work = createWorkspace({ root });
  const report = async (
    into: Workspace | undefined,
    { signal, ...more }: WorktreeMergeOptions = {},
  ): Promise<WorktreeReport> => {
    await makeFolders(path, below);
    const merged = await withCopies(copies(), async (store) => {
      const before = store.load();
      const after = await scan(root, before, store);
      const use = { work, into, before, after, contentOf: store.get, git, folder, ...more };
      const merge = () => mergeFolder(use);
      return into === undefined ? merge() : withMergeLock(folder, repository, merge, signal);
    });
    if (merged.conflicts.length > 0) return { ...merged, kept: path };
    await remove();
    return { ...merged, kept: undefined };
  };
  return { root, merge: report, discard: () => report(undefined) };
}

/**
 * Creates the missing folders of a path below a worktree. Rejects if one of them is a link, because the last
 * commit of a hostile repository can have a link to any folder in the place of a folder.
 */
async function makeFolders(worktree: string, below: string): Promise<void> {
  let path = worktree;
  for (const name of below.split(sep)) {
    path = join(path, name);
    await mkdir(path).catch((error: unknown) => {
      if (errorCodeOf(error) !== 'EEXIST') throw error;
    });
    if (!(await lstat(path)).isDirectory())
      throw noWorktreeError(path, 'it is not a folder in the last commit, or in the worktree');
  }
}

async function withCopies<Result>(
  copies: FileCopies,
  use: (copies: FileCopies) => Promise<Result>,
): Promise<Result> {
  try {
    return await use(copies);
  } finally {
    copies.close();
  }
}

async function scan(root: string, earlier: FolderScan, copies: FileCopies): Promise<FolderScan> {
  // The sub-agent can change a file and then add the file to `.gitignore`, so files of the earlier scan are
  // scanned again.
  const also = earlier.keys();
  const tracked = new TrackedFiles();
  const found = await scanFolder({ root, earlier, copies, limits, tracked, also });
  if (found !== undefined) return found;
  throw noWorktreeError(root, `it has more than ${limits.maxFiles} files`);
}

/** Copies the files that differ from the last commit, so that the sub-agent has the files of its caller. */
async function copyUncommitted(
  to: Workspace,
  { workspace: from, env, omits = () => false }: WorktreesOptions,
): Promise<void> {
  const words = ['ls-files', '-z', '--modified', '--deleted', '--others', '--exclude-standard'];
  const listed = await runGit(words, { cwd: from.root, env });
  if (listed === undefined || listed.isCut)
    throw noWorktreeError(from.root, 'git cannot list its files');
  const names = listed.output.toString('utf8').split('\0');
  // A name that ends with a slash is a repository inside of this one.
  const paths = [...new Set(names)].filter((path) => path !== '' && !path.endsWith('/'));
  if (paths.length > maxUncommitted)
    throw noWorktreeError(from.root, `more than ${maxUncommitted} files are not committed`);
  const contents = new Map<string, Awaited<ReturnType<typeof readIfThere>>>();
  for (const path of paths) if (!omits(path)) contents.set(path, await readIfThere(from, path));
  // Deleted links and files make room for folders with the same name.
  for (const [path, file] of contents)
    if (file === undefined) await to.remove(path).catch(ignoreWorkspaceError);
  for (const [path, file] of contents)
    if (file !== undefined) await to.write(path, file.bytes, { mode: file.mode });
}

async function readIfThere(from: Workspace, path: string) {
  try {
    // A path that leads through a link fails. The copy would be a plain file, and rules for the target of the
    // link would not apply to it.
    const real = join(from.root, path);
    const { bytes } = await from.boundTo(real).read(path, limits.maxFileBytes);
    const { mode } = await lstat(real);
    return { bytes, mode: mode & 0o777 };
  } catch (error) {
    if (!(error instanceof WorkspaceError) && errorCodeOf(error) !== 'ENOENT') throw error;
    // Links and large files are not copied. The worktree does not have them.
    return undefined;
  }
}

/** A file that does not exist, or that is outside of the worktree, is not deleted. */
function ignoreWorkspaceError(error: unknown): void {
  if (!(error instanceof WorkspaceError)) throw error;
}

async function repositoryOf(root: string): Promise<string> {
  const repository = await findRepositoryRoot(root);
  if (repository === undefined) throw noWorktreeError(root, 'it is not in a git repository');
  return repository;
}

async function reasonOf(repository: string): Promise<string> {
  const risk = await findRepositoryRisk(repository);
  return risk ?? 'git cannot create it. The repository needs at least one commit';
}

async function readNote(path: string): Promise<Note | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Note;
  } catch {
    return undefined;
  }
}

async function writeNote(path: string, note: Note): Promise<void> {
  const draft = `${path}.draft`;
  await writeFile(draft, JSON.stringify(note), { mode: 0o600 });
  await rename(draft, path);
}

async function countKept(folder: string, repository: string): Promise<number> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw error;
  });
  const notes = names.filter((name) => name.endsWith('.json'));
  const found = await Promise.all(notes.map((name) => readNote(join(folder, name))));
  return found.filter((note) => note?.repository === repository).length;
}

function noWorktreeError(root: string, why: string): AgentError {
  return new AgentError('bad_input', `Cannot create a git worktree of ${root}: ${why}`);
}

function tooManyError(folder: string, count: number): AgentError {
  const way = 'Merge or delete some of them: git worktree list, git worktree remove --force <path>';
  return new AgentError(
    'bad_input',
    `Cannot create a git worktree: ${folder} already has ${count} of this repository. ${way}`,
  );
}
