import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Of the package that this file is in, from source and when it is built. */
export function version(): string {
  const manifest = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}

/** Beside this package's folders as it is published, or where a clone builds it. */
const pageFolders = ['../web/', '../../web/dist/'];

/** The built page that the server has for people; undefined where it was not built. */
export function pageFolder(): string | undefined {
  const built = pageFolders
    .map((place) => new URL(place, import.meta.url))
    .find((folder) => existsSync(new URL('index.html', folder)));
  return built && fileURLToPath(built);
}
