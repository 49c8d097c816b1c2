import { readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readFileSafely } from '../../safe-files.ts';

/**
 * Returns the source files directly in the folders that `go run` can compile. Returns undefined if there are more than
 * `maxFiles`.
 */
export async function goFilesIn(
  folders: Iterable<string>,
  maxFiles: number,
): Promise<readonly string[] | undefined> {
  const found: string[] = [];
  let count = 0;
  for (const folder of folders) {
    const names = await readdir(folder).catch(() => []);
    count += names.length;
    if (count > maxFiles) return undefined;
    found.push(...names.filter((name) => name.endsWith('.go')).map((name) => join(folder, name)));
  }
  return found;
}

/** Matches a runtime that starts a folder by its `package.json`. */
const runtimes = /\b(?:node(?:js)?[\d.]*|bun|deno|tsx|ts-node|nodemon|electron)\b/;
const packageManagers = /\b(?:npx|bunx|npm|pnpm|yarn)\b/;
const startsWithPath = /(?:^|\s)['"]?(?:\.{0,2}\/|\.{1,2}(?=['"\s]|$))/;

/** True if a command is known to start a folder by its `package.json`, as `node tools` and `npx ./tools` do. */
export function canStartPackages(command: string): boolean {
  return runtimes.test(command) || (packageManagers.test(command) && startsWithPath.test(command));
}

/** Matches an option or a command that changes the folder, with the name of the folder. */
const changedFolder =
  /(?<=^|[\s;&|("'])(?:cd|pushd|-C|--prefix|--cwd|--dir)['"]?[\s=]+(?:"[^"]*"|'[^']*'|[^\s;&|()"']+)/g;

/**
 * Returns a command without the folders to which it changes. It does not start these folders, so their `package.json`
 * can change.
 */
export function withoutFolders(command: string): string {
  return command.replace(changedFolder, ' ');
}

/** The files that decide what a runtime of JavaScript runs for a folder. */
interface NodeScripts {
  readonly manifests: readonly string[];
  /** The paths that the manifests name. Endings can be missing, and files too. */
  readonly scripts: readonly string[];
}

/** Maximum size of all manifests of the packages that commands can start. */
const maxManifestBytes = 4 * 1024 * 1024;

/**
 * Returns the scripts of packages. The result contains the manifests of folders with the value true. Returns undefined
 * if a manifest cannot be read, or if the manifests are too large.
 */
export async function nodeScriptsIn(
  folders: ReadonlyMap<string, boolean>,
): Promise<NodeScripts | undefined> {
  const manifests: string[] = [];
  const scripts: string[] = [];
  let left = maxManifestBytes;
  for (const [folder, isWhole] of folders) {
    const file = join(folder, 'package.json');
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile() !== true) continue;
    const read = readFileSafely(file, { maxBytes: left });
    const bytes = await read.then(
      (one) => one.bytes,
      () => undefined,
    );
    if (bytes === undefined) return undefined;
    left -= bytes.length;
    if (isWhole) manifests.push(file);
    scripts.push(...scriptsOf(bytes).map((path) => resolve(dirname(file), path)));
  }
  return { manifests, scripts };
}

/** Returns the scripts that start a package. A manifest that is not JSON names none. */
function scriptsOf(bytes: Buffer): readonly string[] {
  try {
    const { main, module, bin } = JSON.parse(new TextDecoder().decode(bytes));
    const bins = typeof bin === 'object' && bin !== null ? Object.values(bin) : [bin];
    return [main, module, ...bins].filter((path) => typeof path === 'string');
  } catch {
    return [];
  }
}

/** Returns the packages that Python runs before a module: `a` and `a/b` for `a.b.c`. */
export function packagesOf(module: string): readonly string[] {
  const names = module.split('.');
  if (module.includes('/') || names.includes('')) return [];
  return names.slice(1).map((_, at) => names.slice(0, at + 1).join('/'));
}
