import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import type { PermissionPolicy } from '../permissions/permission-policy.ts';
import { isInside } from '../workspace/match-path.ts';
import { splitGlob } from '../workspace/real-globs.ts';
import { secondPlaces } from './places/mount-table.ts';

/** The result of a search for denied paths. */
export interface Found {
  /** The existing paths to hide from a command. */
  readonly hide: readonly string[];
  /** The reason why a command may still reach a denied path. */
  readonly gap?: string | undefined;
}

const programFolders = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  dirname(process.execPath),
];

/**
 * True for folders with programs of the system, and for what is in them. A project can contain a link to such a
 * folder and a rule that denies the link. If the sandbox hid the folder, no command could run in the sandbox.
 */
export function isProgramPlace(path: string): boolean {
  return programFolders.some((folder) => isInside(folder, path) || isInside(path, folder));
}

/** True if a folder contains programs or libraries of the system. Without them, no command can run. */
export function holdsPrograms(path: string): boolean {
  const system = ['bin', 'sbin', 'lib', 'lib64'].map((name) => `/usr/${name}`);
  return [...programFolders, ...system].some((folder) => isInside(path, folder));
}

/** Finds the absolute paths outside of the workspace. A pattern in the middle of a path cannot be hidden. */
export async function findOutside(
  { root, rules, remembered }: PermissionPolicy,
  globs: readonly string[],
  {
    isReached = () => true,
    searchesLinks = true,
  }: {
    /** True if the command can reach a real path, or a path below it. Default: all paths. */
    readonly isReached?: ((real: string) => boolean) | undefined;
    /** True if `findInside` follows the links of the workspace. Default: true. */
    readonly searchesLinks?: boolean | undefined;
  } = {},
): Promise<Found> {
  const hide: string[] = [];
  const named = new Set([...rules, ...remembered].map(({ path }) => path));
  let gap: string | undefined;
  for (const glob of globs.filter((one) => one.startsWith('/'))) {
    const { base, rest } = splitGlob(glob.replace(/\/$/, ''));
    const isWhole = ['', '**', '**/*', '*'].includes(rest);
    const real = await realpath(base).catch(() => undefined);
    // `findInside` finds the paths in the workspace, because the rules also match their real paths.
    if (real === undefined || isInside(root, real) || !isReached(real)) continue;
    // A rule of a project can name a link to such a folder.
    if (!named.has(glob) && isProgramPlace(real)) gap ??= `${glob} leads to programs of the system`;
    else if (isWhole && !isInside(real, root)) hide.push(real);
    // For the real path of a rule, there is a gap for the rule itself, or `findInside` follows its links.
    else if (named.has(glob) || !searchesLinks) gap ??= `${glob} cannot be hidden`;
  }
  return { hide, gap };
}

/**
 * Finds the paths in the workspace at which mounts show hidden paths again. The sandbox hides these paths by itself.
 * There is a gap if such a path contains the workspace, or if more than `max` paths must be hidden.
 */
export function findMounted(root: string, hide: readonly string[], max: number): Found {
  try {
    const others = secondPlaces(hide, ['/']);
    const above = others.find((path) => isInside(path, root));
    const inside = others.filter((path) => isInside(root, path));
    if (above !== undefined)
      return { hide: inside, gap: `a mount shows a denied path at ${above}` };
    const isFull = hide.length + others.length > max;
    return {
      hide: inside,
      gap: isFull ? 'mounts show denied paths at too many places' : undefined,
    };
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return { hide: [], gap: error.message };
  }
}

/** Returns the links that lead to one of the paths, or to a folder that contains one of them. */
export async function leadingTo(
  links: readonly string[],
  paths: readonly string[],
): Promise<readonly string[]> {
  const targets = await Promise.all(links.map((link) => realpath(link).catch(() => undefined)));
  return links.filter((_, at) => {
    const target = targets[at];
    return target !== undefined && paths.some((path) => isInside(target, path));
  });
}
