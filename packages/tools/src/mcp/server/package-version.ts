import { readFileSync } from 'node:fs';

/**
 * The names of the packages that can contain this file. All packages of the project have the same
 * version.
 */
const ownPackages = new Set(['@millrace/tools', '@millrace/cli']);
/**
 * Maximum number of folders between this file and `package.json`. The deepest location is `dist/mcp/server`.
 */
const maxLevels = 4;

/**
 * Returns the version of the package that contains this file. Returns `unknown` if a different program has
 * bundled the file. `start` is the folder of the file.
 */
export function packageVersion(start: URL = new URL('.', import.meta.url)): string {
  let folder = start;
  for (let level = 0; level < maxLevels; level++) {
    const manifest = readManifest(new URL('package.json', folder));
    if (manifest !== undefined) return ownPackages.has(manifest.name) ? manifest.version : unknown;
    folder = new URL('..', folder);
  }
  return unknown;
}

const unknown = 'unknown';

interface Manifest {
  readonly name: string;
  readonly version: string;
}

function readManifest(file: URL): Manifest | undefined {
  try {
    const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Manifest>;
    return typeof name === 'string' && typeof version === 'string' ? { name, version } : undefined;
  } catch {
    return undefined;
  }
}
