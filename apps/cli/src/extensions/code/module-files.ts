import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { ExtensionModule } from '../../contract/extensions.ts';
import { type ExtensionPlace, listFiles, readExtensionFile } from '../extension-files.ts';

const codeEndings: ReadonlySet<string> = new Set(['.ts', '.mts', '.js', '.mjs']);
const importedEndings: ReadonlySet<string> = new Set([...codeEndings, '.json']);

/**
 * Finds the extensions of a place: the TypeScript and JavaScript files in its folder `extensions`, and
 * `index.ts` or `index.js` in the folders below. The digests of all files of this folder belong to an
 * extension of a project, because it can import them.
 */
export async function findExtensionModules(
  place: ExtensionPlace,
  warn: (problem: string) => void,
): Promise<readonly ExtensionModule[]> {
  const { origin } = place;
  const folder = join(place.folder, 'extensions');
  const isImported = (name: string) =>
    importedEndings.has(extname(name)) && !/\.d\.m?ts$/.test(name);
  const paths = await listFiles(folder, origin, isImported);
  const files: Record<string, string> = {};
  const entries: { readonly name: string; readonly path: string }[] = [];
  for (const path of paths) {
    const content = await readExtensionFile(path, place, warn);
    if (content === undefined) continue;
    const real = await realpath(path);
    files[real] = createHash('sha256').update(content).digest('hex');
    const name = entryName(path, folder);
    if (name !== undefined) entries.push({ name, path: real });
  }
  return entries.map(({ name, path }) => ({
    ...{ name, path, origin },
    ...(origin === 'project' && { files }),
  }));
}

/** Returns the name of an extension. Undefined for a file that only other files import. */
function entryName(path: string, folder: string): string | undefined {
  const ending = extname(path);
  if (!codeEndings.has(ending)) return undefined;
  const [parent, own] = [dirname(path), basename(path, ending)];
  if (parent === folder) return own;
  return dirname(parent) === folder && own === 'index' ? basename(parent) : undefined;
}
