import { mkdir, rmdir } from 'node:fs/promises';
import { codeOf } from '../contract/workspace-error.ts';
import type { Folder } from './folder.ts';
import { nameAt, type Place } from './resolve-path.ts';
import { whyNot } from './why-not.ts';

/** A folder that was made where it was not, and that can be unmade. */
interface MadeFolder {
  readonly folder: Folder;
  /** Removes what was made, unless somebody has put something into it. */
  undo(): Promise<void>;
  close(): Promise<void>;
}

/** Walks to the folder that a place is in, and makes what is missing of it. */
export async function makeFolder(openRoot: OpenRoot, place: Place): Promise<MadeFolder> {
  let folder = await openRoot();
  const walked: Folder[] = [folder];
  const made: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const each of walked) await each.close();
  };
  const undo = async () => {
    for (const unmake of made.reverse()) await unmake().catch(() => {});
  };
  try {
    for (let index = 0; index < place.segments.length - 1; index++) {
      const [parent, name] = [folder, nameAt(place, index)];
      const { entered, isNew } = await enterOrMake(place, index, parent);
      if (isNew) made.push(() => rmdir(parent.at(name)));
      folder = entered;
      walked.push(folder);
    }
    return { folder, undo, close };
  } catch (error) {
    await undo();
    await close();
    throw error;
  }
}

async function enterOrMake(place: Place, index: number, parent: Folder) {
  const name = nameAt(place, index);
  try {
    return { entered: await parent.enter(name), isNew: false };
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw await whyNot(place, index, parent, error);
  }
  try {
    const isNew = await make(parent.at(name));
    return { entered: await parent.enter(name), isNew };
  } catch (error) {
    throw await whyNot(place, index, parent, error);
  }
}

/** False where somebody else was quicker. */
async function make(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Opens the root of a workspace anew. */
export type OpenRoot = () => Promise<Folder>;

/** Walks the first `depth` segments of a place, following no link. */
export async function enterFolder(
  openRoot: OpenRoot,
  place: Place,
  depth: number,
): Promise<Folder> {
  let folder = await openRoot();
  for (let index = 0; index < depth; index++) {
    const parent = folder;
    try {
      folder = await parent.enter(nameAt(place, index));
    } catch (error) {
      throw await whyNot(place, index, parent, error);
    } finally {
      await parent.close();
    }
  }
  return folder;
}
