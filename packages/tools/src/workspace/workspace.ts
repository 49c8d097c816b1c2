import { fromSystemError, WorkspaceError } from '../contract/workspace-error.ts';
import { isPartOfRepository } from '../git/repositories/read-folder.ts';
import { assertKnownOptions } from '../known-options.ts';
import { folderOpener, realRoot } from './folder.ts';
import { type FolderListing, listFolder } from './list-folder.ts';
import { type OpenBuffers, openBuffer, unsavedBytes, writeBuffer } from './open-buffers.ts';
import {
  assertBasis,
  checkBasis,
  type FileContent,
  type OpenFile,
  openFile,
  readContent,
} from './open-file.ts';
import type { OpenRoot } from './open-folder.ts';
import { type ChangeLog, modeOf, readOldFile, recordChange } from './record-change.ts';
import {
  assertJudged,
  assertProtectionJudged,
  protectedLinkError,
  type ResolvedPath,
  type ResolveOptions,
  resolvePath,
} from './resolve-path.ts';
import {
  existsError,
  removeFile,
  type WriteOptions,
  type WriteResult,
  writeFile,
} from './write-file.ts';

/**
 * A folder that file tools cannot leave. Paths come from a model and are relative to the root or absolute.
 * `~` is an ordinary name. Symbolic links may lead to different places inside the root. A path that leads
 * outside fails, even if a different process redirects it while it is being opened. A write through a link to
 * a file that can run code, such as `.git/config`, fails too. All methods reject with a `WorkspaceError`. A
 * hard link to a file outside cannot be detected.
 */
export interface Workspace {
  /** The real path of the folder. */
  readonly root: string;
  /**
   * Resolves a path, which may not exist. The result is valid only at the time of the call, so `open` and the
   * other methods resolve the path again.
   */
  resolve(path: string, options?: ResolveOptions): Promise<ResolvedPath>;
  /**
   * Returns the workspace for one approved call. All its methods fail with the code `changed` if the path
   * leads to a different real path than `judged`. A change also fails if git or another program obeys the file
   * now, and `judged` does not say so. Tools pass `ToolContext.judged`. If it is undefined, there is no
   * restriction.
   *
   * A change also fails with the code `changed` if the file is in a different state than `basis`, which is
   * `ChangePreview.basis`. Tools pass `ToolContext.basis`. If it is undefined, any state is allowed.
   */
  boundTo(judged: string | undefined, basis?: string | undefined): Workspace;
  /**
   * Returns the workspace for one tool call. It writes each file change to the log before it changes the
   * file, so the change can be undone. Tools pass their `ToolContext`. Without `recordFileChange`, nothing is
   * recorded.
   */
  recordedBy(log: ChangeLog): Workspace;
  /** Opens a regular file. The caller must close it. It never blocks on a FIFO and never opens a device. */
  open(path: string): Promise<OpenFile>;
  /** Reads a complete file. It fails if the file is larger than `maxBytes`. */
  read(path: string, maxBytes: number): Promise<FileContent & { readonly place: ResolvedPath }>;
  /** Lists a folder, up to `maxEntries` entries. */
  list(path: string, maxEntries: number): Promise<FolderListing>;
  /** Creates or replaces a file atomically, and creates missing folders. */
  write(path: string, bytes: Uint8Array, options?: WriteOptions): Promise<WriteResult>;
  /**
   * Deletes a regular file or a symbolic link. If the path is a link, its target stays, as with `rm`. The
   * link itself must be inside the root. It fails if the parent folders lead through a link to a protected
   * file.
   */
  remove(path: string, options?: Pick<WriteOptions, 'signal'>): Promise<ResolvedPath>;
  /**
   * Changes a file based on its current content. Changes of the same file in this process run one after the
   * other. The change fails if a different process changes the file at the same time.
   */
  change<Result>(
    path: string,
    change: (before: FileBefore) => FileChange<Result>,
    options: ChangeOptions,
  ): Promise<Result>;
}

/** The current content of a file. */
export interface FileBefore {
  readonly place: ResolvedPath;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The result of a change function. */
export interface FileChange<Result> {
  /** The new content. Omit it to keep the file unchanged. */
  readonly bytes?: Uint8Array;
  /** The value that `change` returns after the file is written. */
  readonly result: Result;
}

/** Options of `Workspace.change`. */
export interface ChangeOptions extends WriteOptions {
  /** Maximum size of the current file, in bytes. */
  readonly maxBytes: number;
}

/** Options of `createWorkspace`. */
export interface WorkspaceOptions {
  /** The folder. It must exist. */
  readonly root: string;
  /**
   * The files that are open in an editor. Tools read and change a file with unsaved changes as the editor
   * shows it. Default: none.
   */
  readonly buffers?: OpenBuffers | undefined;
}

/**
 * Creates a workspace for the file tools. Throws if the root is not a readable folder.
 *
 * @example
 * const workspace = createWorkspace({ root: '.' });
 * const tools = [readTool(workspace), editTool(workspace), grepTool({ workspace })];
 */
export function createWorkspace(options: WorkspaceOptions): Workspace {
  assertKnownOptions('createWorkspace', options, { root: true, buffers: true });
  const root = realRoot(options.root);
  return workspaceAt(root, folderOpener(root), { buffers: options.buffers });
}

/** The call to which a workspace belongs, and the open files of the editor. */
interface CallBinding {
  readonly judged?: string | undefined;
  readonly basis?: string | undefined;
  readonly log?: ChangeLog | undefined;
  readonly buffers?: OpenBuffers | undefined;
}

function workspaceAt(root: string, openRoot: OpenRoot, binding: CallBinding): Workspace {
  const { judged, basis, log, buffers } = binding;
  const open = async (place: ResolvedPath) => openBuffer(buffers, await openFile(openRoot, place));
  /** Returns the unsaved content of a file in the editor. Undefined if there is none. */
  const unsavedAt = async (place: ResolvedPath) => {
    if (buffers === undefined || !place.exists) return undefined;
    const file = await openFile(openRoot, place);
    try {
      return await unsavedBytes(buffers, file);
    } finally {
      await file.handle.close();
    }
  };
  /** Writes a file on the disk, or in the editor if it has unsaved changes there. */
  const put = async (place: ResolvedPath, bytes: Uint8Array, options: WriteOptions) => {
    const unsaved = await unsavedAt(place);
    const check = () => assertProtectionJudged(root, place, judged);
    if (buffers === undefined || unsaved === undefined)
      return writeFile(openRoot, place, bytes, { ...options, check });
    await writeBuffer(buffers, place, bytes, unsaved, { ...options, check });
    return { place, isNew: false };
  };
  const resolve = async (path: string, options?: ResolveOptions) => {
    const place = await resolvePath(root, path, options);
    assertJudged(place, judged);
    return place;
  };
  const resolveForWriting = async (path: string, options?: ResolveOptions) => {
    const place = await resolve(path, options);
    const problem = protectedLinkError(place);
    if (problem !== undefined) throw problem;
    return place;
  };
  const readPlace = async (place: ResolvedPath, maxBytes: number) => {
    const file = await open(place);
    try {
      return { ...(await readContent(file, maxBytes)), mode: modeOf(file) };
    } catch (error) {
      throw fromSystemError(place.given, error);
    } finally {
      await file.handle.close();
    }
  };
  /**
   * Writes the change to the log. Returns write options. With them, the change fails if a different process
   * has changed the file after its content was recorded.
   */
  const record = async (
    place: ResolvedPath,
    after: Uint8Array | undefined,
    { isNew = false }: Pick<WriteOptions, 'isNew'> = {},
  ) => {
    if (log?.recordFileChange === undefined) return {};
    const file = await open(place).catch((error: unknown) => {
      if (error instanceof WorkspaceError && error.code === 'not_found') return undefined;
      throw error;
    });
    try {
      if (file !== undefined && isNew) throw existsError(place);
      const old = file && (await readOldFile(file));
      await recordChange(log, place, old, after);
      return old === undefined ? { isNew: true } : { expected: old.bytes && old.version };
    } finally {
      await file?.handle.close();
    }
  };
  return {
    root,
    resolve,
    boundTo: (real, state) =>
      workspaceAt(root, openRoot, { ...binding, judged: real ?? judged, basis: state ?? basis }),
    recordedBy: (own) => workspaceAt(root, openRoot, { ...binding, log: own }),
    open: async (path) => open(await resolve(path)),
    read: async (path, maxBytes) => {
      const place = await resolve(path);
      const { bytes, version } = await readPlace(place, maxBytes);
      return { bytes, version, place };
    },
    list: async (path, maxEntries) => listFolder(openRoot, await resolve(path), maxEntries),
    write: async (path, bytes, options = {}) => {
      if (/\/\.{0,2}$/.test(path)) throw namesFolderError(path);
      const place = await resolveForWriting(path);
      return withPathLock(lockOf(place), async () => {
        options.signal?.throwIfAborted();
        assertProtectionJudged(root, place, judged);
        const seen = await checkBasis(place, basis, open);
        const recorded = await record(place, bytes, options);
        const expected = options.expected ?? seen.expected ?? recorded.expected;
        return put(place, bytes, { ...options, ...recorded, ...seen, expected });
      });
    },
    remove: async (path, { signal } = {}) => {
      if (/\/\.{0,2}$/.test(path)) throw namesFolderError(path);
      const place = await resolveForWriting(path, { keepsLink: true });
      return withPathLock(lockOf(place), async () => {
        signal?.throwIfAborted();
        assertProtectionJudged(root, place, judged);
        await checkBasis(place, basis, open);
        // Deleting a link does not delete its target, so there is no content to record.
        if (place.linkTarget === undefined) await record(place, undefined);
        await removeFile(openRoot, place, () => assertProtectionJudged(root, place, judged));
        return place;
      });
    },
    change: async (path, change, { maxBytes, ...options }) => {
      const place = await resolveForWriting(path);
      return withPathLock(lockOf(place), async () => {
        options.signal?.throwIfAborted();
        assertProtectionJudged(root, place, judged);
        const old = await readPlace(place, maxBytes);
        assertBasis(place, basis, old.version);
        const after = change({ place, bytes: old.bytes });
        if (after.bytes !== undefined) {
          if (log !== undefined) await recordChange(log, place, old, after.bytes);
          await put(place, after.bytes, { ...options, expected: old.version });
        }
        return after.result;
      });
    },
  };
}

function namesFolderError(path: string): WorkspaceError {
  return new WorkspaceError(
    'folder',
    path,
    'it ends like the path of a folder. Give the path of a file',
  );
}

// The last work of each lock. All workspaces of the process share this map, because the root of one workspace
// may be inside a second workspace.
const lastWork = new Map<string, Promise<unknown>>();

/**
 * Returns the name of the lock of a path. All parts of repositories have one lock. Otherwise two writes at the
 * same time could create the last two parts, and neither of them would see the other part.
 */
function lockOf({ real }: ResolvedPath): string {
  return real.split('/').some(isPartOfRepository) ? 'parts of repositories' : real;
}

/** Runs work on a path exclusively. Later calls for the same path wait in order. */
async function withPathLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  const before = lastWork.get(lock);
  const mine = (async () => {
    await before;
    return work();
  })();
  const settled = mine.catch(() => {});
  lastWork.set(lock, settled);
  try {
    return await mine;
  } finally {
    if (lastWork.get(lock) === settled) lastWork.delete(lock);
  }
}
