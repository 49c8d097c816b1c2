import { realpathSync, statSync } from 'node:fs';
import { AgentError } from '@millrace/agent';
import { fromSystemError, WorkspaceError } from '../contract/workspace-error.ts';
import { folderOpener } from './folder.ts';
import { type Listing, listFolder } from './list-folder.ts';
import { type FileContent, type OpenFile, openFile, readContent } from './open-file.ts';
import { type Place, resolvePath } from './resolve-path.ts';
import { type WriteOptions, type Written, writeFile } from './write-file.ts';

/**
 * A folder that tools work in and do not leave. Paths are those of a model: relative to the root or
 * absolute, `~` being a name like any other. Links may lead about inside; what leads outside fails, and
 * so does what is led outside while it is opened. Whatever fails is a `WorkspaceError`. A hard link to a
 * file outside cannot be told from a file inside.
 */
export interface Workspace {
  /** Its real path. */
  readonly root: string;
  /** Where a path leads, also one to what does not exist. True when asked; `open` and the rest look anew. */
  resolve(path: string): Promise<Place>;
  /** Opens a regular file, which the caller closes. Never waits for a FIFO or touches a device. */
  open(path: string): Promise<OpenFile>;
  /** A whole file of at most so many bytes. */
  read(path: string, maxBytes: number): Promise<FileContent & { readonly place: Place }>;
  /** What is in a folder, up to a count. */
  list(path: string, maxEntries: number): Promise<Listing>;
  /** Makes or replaces a file, whole or not at all, and the folders it needs. */
  write(path: string, bytes: Uint8Array, options?: WriteOptions): Promise<Written>;
  /**
   * Changes a file by what it holds. Changes of one file by this process wait for each other, and one
   * that another process spoils fails.
   */
  change<Result>(
    path: string,
    change: (before: Before) => Change<Result>,
    options: ChangeOptions,
  ): Promise<Result>;
}

/** What a file holds. */
export interface Before {
  readonly place: Place;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface Change<Result> {
  /** What it is to hold; absent to leave it as it is. */
  readonly bytes?: Uint8Array;
  /** What is given back once that is written. */
  readonly result: Result;
}

export interface ChangeOptions extends WriteOptions {
  /** Of the file as it is. */
  readonly maxBytes: number;
}

export interface WorkspaceOptions {
  readonly root: string;
}

export function createWorkspace({ root: given }: WorkspaceOptions): Workspace {
  const root = realRoot(given);
  const openRoot = folderOpener(root);
  const resolve = (path: string) => resolvePath(root, path);
  const readPlace = async (place: Place, maxBytes: number) => {
    const file = await openFile(openRoot, place);
    try {
      return await readContent(file, maxBytes);
    } catch (error) {
      throw fromSystemError(place.given, error);
    } finally {
      await file.handle.close();
    }
  };
  return {
    root,
    resolve,
    open: async (path) => openFile(openRoot, await resolve(path)),
    read: async (path, maxBytes) => {
      const place = await resolve(path);
      return { ...(await readPlace(place, maxBytes)), place };
    },
    list: async (path, maxEntries) => listFolder(openRoot, await resolve(path), maxEntries),
    write: async (path, bytes, options = {}) => {
      if (/\/\.{0,2}$/.test(path)) throw namesFolderError(path);
      const place = await resolve(path);
      return withPathLock(place.real, async () => {
        options.signal?.throwIfAborted();
        return writeFile(openRoot, place, bytes, options);
      });
    },
    change: async (path, change, { maxBytes, ...options }) => {
      const place = await resolve(path);
      return withPathLock(place.real, async () => {
        options.signal?.throwIfAborted();
        const { bytes, version } = await readPlace(place, maxBytes);
        const after = change({ place, bytes });
        if (after.bytes !== undefined) {
          await writeFile(openRoot, place, after.bytes, { ...options, expected: version });
        }
        return after.result;
      });
    },
  };
}

function namesFolderError(path: string): WorkspaceError {
  return new WorkspaceError('folder', path, 'by its end it names a folder. Name a file');
}

function realRoot(given: string): string {
  try {
    const root = realpathSync.native(given);
    if (statSync(root).isDirectory()) return root;
  } catch (error) {
    throw invalidRootError(given, error);
  }
  throw invalidRootError(given);
}

function invalidRootError(given: string, cause?: unknown): AgentError {
  const message = `Cannot make a workspace of ${given}: it is not a folder that can be read. Make it first`;
  return new AgentError('bad_option', message, { path: given }, { cause });
}

// One for the process, because several workspaces may share files: a sub-agent's root may be in another's.
const lastWorkByPath = new Map<string, Promise<unknown>>();

/** Works on a path alone: whoever asks for it meanwhile waits, in the order of asking. */
export async function withPathLock<T>(real: string, work: () => Promise<T>): Promise<T> {
  const before = lastWorkByPath.get(real);
  const mine = (async () => {
    await before;
    return work();
  })();
  const settled = mine.catch(() => {});
  lastWorkByPath.set(real, settled);
  try {
    return await mine;
  } finally {
    if (lastWorkByPath.get(real) === settled) lastWorkByPath.delete(real);
  }
}
