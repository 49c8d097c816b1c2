import { existsSync, readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Returns the version in package.json. The relative path is the same for source, build and bundle.
 */
export function version(): string {
  const manifest = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}

/** The places of the web page: first in the published package, then in a clone. */
const pageFolders = ['../web/', '../../web/dist/'];

/** Returns the folder of the built web page. Undefined if it was not built. */
export function pageFolder(): string | undefined {
  const built = pageFolders
    .map((place) => new URL(place, import.meta.url))
    .find((folder) => existsSync(new URL('index.html', folder)));
  return built && fileURLToPath(built);
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns the folder of the compiled code. It is below the user's home folder. In a folder for
 * temporary files, another user could plant code. With a relative path, a project could do so.
 */
export function compileCacheFolder(env: Env): string {
  const { XDG_CACHE_HOME: given = '' } = env;
  const caches = isAbsolute(given) ? given : join(homedir(), '.cache');
  return join(caches, 'millrace', 'compiled');
}

/**
 * Returns the paths whose content this program runs at its next start: its files, its compiled code
 * and Node.js. The paths need not exist.
 */
export function ownPrograms(env: Env): readonly string[] {
  const paths = [
    fileURLToPath(new URL('.', import.meta.url)).replace(/(?<=.)\/$/, ''),
    pageFolder()?.replace(/(?<=.)\/$/, '') ?? '',
    process.argv[1] ?? '',
    process.execPath,
    // Node.js uses another folder if an environment variable names one.
    getCompileCacheDir() ?? '',
    compileCacheFolder(env),
  ];
  return [...new Set(paths)].filter(isAbsolute);
}
