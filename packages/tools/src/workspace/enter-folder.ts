import type { Folder } from './folder.ts';
import { nameAt, type Place } from './resolve-path.ts';
import { whyNot } from './why-not.ts';

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
