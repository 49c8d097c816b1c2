import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Returns the version in package.json. The path is the same for source, build and bundle. */
export function version(): string {
  const manifest = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}

/** In the published package, and in a clone. */
const pageFolders = ['../web/', '../../web/dist/'];

/** Returns the folder of the built web page. Undefined if it was not built. */
export function pageFolder(): string | undefined {
  const built = pageFolders
    .map((place) => new URL(place, import.meta.url))
    .find((folder) => existsSync(new URL('index.html', folder)));
  return built && fileURLToPath(built);
}
