import { isAbsolute, relative, resolve } from 'node:path';
import { formsOfPaths } from '@millrace/tools';
import { isInside } from '../../config/config-paths.ts';

/** The folders that decide which paths a hook gets for a tool call. */
export interface HookFolders {
  /** The folder of the session. Hooks get paths in this folder. */
  readonly cwd: string;
  /** The folder in which the tool works, such as the worktree of a sub-agent. Default: `cwd`. */
  readonly root?: string | undefined;
}

/**
 * Returns the real path that a tool uses for a path of a call, and the same path in the folder of the session. The
 * kernel enters a link before it goes to the parent with `..`, so the text alone does not say which file this is.
 */
export function usedPath(
  given: string,
  { cwd, root = cwd }: HookFolders,
): { readonly real: string; readonly path: string } {
  const real = realPathOf(isAbsolute(given) ? given : `${root}/${given}`);
  return { real, path: movedPath(real, realPathOf(root), cwd) };
}

/** Follows the links of an absolute path as the kernel does. The end of the path need not exist. */
export function realPathOf(path: string): string {
  return formsOfPaths([path]).at(-1) ?? path;
}

/** Returns the same path in a different folder. Returns a path outside of the first folder as it is. */
export function movedPath(path: string, from: string, to: string): string {
  const full = resolve(from, path);
  return isInside(full, from) ? resolve(to, relative(from, full)) : path;
}
