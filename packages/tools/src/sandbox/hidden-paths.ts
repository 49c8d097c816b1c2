import { readdir, realpath } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import picomatch from 'picomatch';
import { findRepositoryRoot, runGit } from '../git/run-git.ts';
import type { PermissionPolicy } from '../permissions/permission-policy.ts';
import { isInside } from '../workspace/match-path.ts';

/** The paths that the rules of a policy deny for commands. */
export interface DeniedPaths {
  /** The existing paths to hide from a command. */
  readonly hide: readonly string[];
  /** The folders that a command must not rename, because a rule applies to a path and not to a name. */
  readonly pin: readonly string[];
  /**
   * The reason why a command may still reach a denied path. Undefined if the sandbox can hide all denied paths.
   */
  readonly gap?: string | undefined;
}

const nothing: DeniedPaths = { hide: [], pin: [] };

/** Maximum number of entries to check, because each check takes time. */
const maxEntries = 200_000;
const maxHidden = 500;

/**
 * The character that replaces bytes that are not valid UTF-8. A path with this character is not the real path
 * of the file.
 */
const undecodable = '\uFFFD';

/**
 * Finds the paths in the workspace, and the absolute paths, that the rules deny for the commands of a tool. If
 * the sandbox cannot hide all of them, the result has a `gap`.
 */
export async function findDeniedPaths(
  policy: PermissionPolicy,
  tool: string,
): Promise<DeniedPaths> {
  const globs = policy.deniedPaths(tool);
  if (globs.length === 0) return nothing;
  const outside = await findOutside(policy.root, globs);
  const inside = await findInside(policy, tool);
  const all = [...outside.hide, ...inside.hide];
  // With a gap, the sandbox still hides the paths that were found, because a user can approve the command.
  const hide = all.slice(0, maxHidden);
  const isByPath = globs.some((glob) => glob.includes('/'));
  const pin = isByPath ? foldersAbove(policy.root, hide) : [];
  const tooMany = all.length > maxHidden ? `more than ${maxHidden} paths are denied` : undefined;
  const gap = tooMany ?? inside.gap ?? outside.gap ?? (await findTracked(policy, tool));
  return { hide, pin, ...(gap !== undefined && { gap }) };
}

type Found = Omit<DeniedPaths, 'pin'>;

/**
 * Finds the denied paths in the workspace. It searches the upper folders first, and it continues after a gap,
 * so that many or strange names in one folder do not reveal the denied files of other folders.
 */
async function findInside(policy: PermissionPolicy, tool: string): Promise<Found> {
  const { root } = policy;
  const hide: string[] = [];
  const folders = [root];
  let entries = 0;
  let gap: string | undefined;
  for (const folder of folders) {
    const found = await readdir(folder, { withFileTypes: true }).catch(codeOf);
    if (typeof found === 'string') {
      if (found !== 'ENOENT') gap ??= `${folder} cannot be searched for denied paths`;
      continue;
    }
    entries += found.length;
    if (entries > maxEntries)
      return { hide, gap: `the workspace has more than ${maxEntries} entries` };
    for (const entry of found) {
      const path = join(folder, entry.name);
      if (entry.name.includes(undecodable)) {
        gap ??= `the name ${path} cannot be checked`;
        continue;
      }
      if (isObjectFolder(path)) continue;
      if (entry.isSymbolicLink()) {
        // A link is not hidden, because a rule can allow its target. If the link is denied, its target is hidden.
        const target = await deniedTarget(policy, tool, path);
        if (target === undefined) continue;
        if (isProgramPlace(target)) gap ??= `${path} leads to programs of the system`;
        else if (isInside(target, root))
          gap ??= `${path} leads to a folder that contains the workspace`;
        else hide.push(target);
        continue;
      }
      if (!policy.mayReach(tool, { path, kind: 'read' })) hide.push(path);
      else if (entry.isDirectory()) folders.push(path);
      if (hide.length > maxHidden) return { hide, gap };
    }
  }
  return { hide, gap };
}

/** Returns the real path of a link if a rule denies the link, or the files below it. */
async function deniedTarget(
  policy: PermissionPolicy,
  tool: string,
  link: string,
): Promise<string | undefined> {
  const isDenied = [link, join(link, 'file')].some(
    (path) => !policy.mayReach(tool, { path, kind: 'read' }),
  );
  return isDenied ? realpath(link).catch(() => undefined) : undefined;
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
function isProgramPlace(path: string): boolean {
  return programFolders.some((folder) => isInside(folder, path) || isInside(path, folder));
}

/** True for the objects of a repository. Their names are hashes, and there are many of them. */
function isObjectFolder(path: string): boolean {
  return path.endsWith(join(sep, '.git', 'objects'));
}

/** Finds the absolute paths outside of the workspace. A pattern in the middle of a path cannot be hidden. */
async function findOutside(root: string, globs: readonly string[]): Promise<Found> {
  const hide: string[] = [];
  for (const glob of globs.filter((one) => one.startsWith('/'))) {
    const { base, glob: pattern, isGlob } = picomatch.scan(glob.replace(/\/$/, ''));
    const target = isGlob ? base : glob;
    const isWhole = !isGlob || pattern === '**' || pattern === '**/*' || pattern === '*';
    const real = await realpath(target).catch(() => undefined);
    if (real === undefined || isInside(root, real)) continue;
    if (!isWhole || isInside(real, root)) return { hide, gap: `${glob} cannot be hidden` };
    hide.push(real);
  }
  return { hide };
}

/** Returns a gap if git tracks a denied file, because its repository then contains the content. */
async function findTracked(policy: PermissionPolicy, tool: string): Promise<string | undefined> {
  const { root } = policy;
  if ((await findRepositoryRoot(root)) === undefined) return undefined;
  const listed = await runGit(['ls-files', '-z'], { cwd: root, env: process.env });
  if (listed === undefined || listed.isCut)
    return 'the repository cannot be checked for denied files';
  const tracked = listed.output
    .toString('utf8')
    .split('\0')
    .find((path) => path !== '' && !policy.mayReach(tool, { path, kind: 'read' }));
  return tracked && `git tracks ${tracked}, which is denied`;
}

function foldersAbove(root: string, paths: readonly string[]): readonly string[] {
  const folders = new Set<string>();
  for (const path of paths)
    for (let at = dirname(path); at !== root && isInside(root, at); at = dirname(at))
      folders.add(at);
  return [...folders].toSorted();
}

function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? 'unknown';
}
