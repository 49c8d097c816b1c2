import { existsSync, readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Returns the version in package.json. The relative path to this file is the same for source, build
 * and bundle.
 */
export function version(): string {
  const manifest = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}

/**
 * The possible folders of the web page. The first is in the published package, the second in a
 * clone.
 */
const pageFolders = ['../web/', '../../web/dist/'];

/** Returns the folder of the built web page. Returns undefined if the page is not built. */
export function pageFolder(): string | undefined {
  const built = pageFolders
    .map((place) => new URL(place, import.meta.url))
    .find((folder) => existsSync(new URL('index.html', folder)));
  return built && fileURLToPath(built);
}

/** True if this program runs in a clone of the repository, and not in an installed package. */
export function isInClone(): boolean {
  return existsSync(new URL('../../../scripts/bundle-cli.ts', import.meta.url));
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns the folder for compiled code. The folder is in the user's home folder. A different user
 * could put code into a temporary folder, and a project could put code into a relative path.
 */
export function compileCacheFolder(env: Env): string {
  const { XDG_CACHE_HOME: given = '' } = env;
  const caches = isAbsolute(given) ? given : join(homedir(), '.cache');
  return join(caches, 'millrace', 'compiled');
}

/**
 * Returns the paths of all code that the next start of this program runs: its files, its compiled
 * code, and Node.js. The paths need not exist.
 */
export function ownPrograms(env: Env): readonly string[] {
  const paths = [
    fileURLToPath(new URL('.', import.meta.url)).replace(/(?<=.)\/$/, ''),
    pageFolder()?.replace(/(?<=.)\/$/, '') ?? '',
    process.argv[1] ?? '',
    process.execPath,
    // Node.js uses a different folder if an environment variable is set.
    getCompileCacheDir() ?? '',
    compileCacheFolder(env),
  ];
  return [...new Set(paths)].filter(isAbsolute);
}
