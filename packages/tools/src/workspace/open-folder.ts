import { mkdir, rmdir } from 'node:fs/promises';
import { errorCodeOf } from '../contract/workspace-error.ts';
import type { Folder } from './folder.ts';
import { explainPathFailure } from './path-failure.ts';
import { type ResolvedPath, segmentAt } from './resolve-path.ts';

/** An open folder. Parent folders that were created for it can be removed again. */
interface CreatedFolder {
  readonly folder: Folder;
  /** Removes the created folders. A folder stays if a different process has created an entry in it. */
  undo(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the parent folder of a path and creates missing folders. */
export async function openOrCreateParent(
  openRoot: OpenRoot,
  place: ResolvedPath,
): Promise<CreatedFolder> {
  let folder = await openRoot();
  const opened: Folder[] = [folder];
  const undoSteps: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const each of opened) await each.close();
  };
  const undo = async () => {
    for (const unmake of undoSteps.reverse()) await unmake().catch(() => {});
  };
  try {
    for (let index = 0; index < place.segments.length - 1; index++) {
      const [parent, name] = [folder, segmentAt(place, index)];
      const { entered, isNew } = await enterOrCreate(place, index, parent);
      if (isNew) undoSteps.push(() => rmdir(parent.pathOf(name)));
      folder = entered;
      opened.push(folder);
    }
    return { folder, undo, close };
  } catch (error) {
    await undo();
    await close();
    throw error;
  }
}

/** Opens the root of a workspace. */
export type OpenRoot = () => Promise<Folder>;

/** Opens the folder at the first `depth` segments of a path. It does not follow links. */
export async function openFolder(
  openRoot: OpenRoot,
  place: ResolvedPath,
  depth: number,
): Promise<Folder> {
  let folder = await openRoot();
  for (let index = 0; index < depth; index++) {
    const parent = folder;
    try {
      folder = await parent.enter(segmentAt(place, index));
    } catch (error) {
      throw await explainPathFailure(place, index, parent, error);
    } finally {
      await parent.close();
    }
  }
  return folder;
}

async function enterOrCreate(place: ResolvedPath, index: number, parent: Folder) {
  const name = segmentAt(place, index);
  try {
    return { entered: await parent.enter(name), isNew: false };
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOENT')
      throw await explainPathFailure(place, index, parent, error);
  }
  try {
    const isNew = await createFolder(parent.pathOf(name));
    return { entered: await parent.enter(name), isNew };
  } catch (error) {
    throw await explainPathFailure(place, index, parent, error);
  }
}

/** Creates a folder. Returns false if a different process created it first. */
async function createFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}
