import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { VersionStores } from '../git/repositories/version-stores.ts';
import { restsBelow } from '../permissions/moved-rules.ts';
import type { PermissionPolicy } from '../permissions/permission-policy.ts';
import { slices } from '../slices.ts';
import { compileGlob } from '../workspace/globs/compile-glob.ts';
import {
  anyTest,
  entryMatcher,
  isInside,
  type LexicalPath,
  lexicalPath,
  pathMatcher,
} from '../workspace/match-path.ts';
import { escapeGlob, splitGlob } from '../workspace/real-globs.ts';
import {
  type Found,
  findMounted,
  findOutside,
  holdsPrograms,
  isProgramPlace,
  leadingTo,
} from './denied-outside.ts';
import { isInClosedView } from './places/closed-view.ts';

/** The paths that the rules of a policy deny for commands. */
export interface DeniedPaths {
  /** The existing paths to hide from a command. */
  readonly hide: readonly string[];
  /**
   * The folders in the workspace that contain hidden paths. A command must not rename them: a rule can apply to a
   * path and not to a name, and the search for the next command could miss a file that moves at that time.
   */
  readonly pin: readonly string[];
  /** The links that a command must not change, because a rule leads through them to hidden paths. */
  readonly links: readonly string[];
  /**
   * The reason why a command may still reach a denied path. Undefined if the sandbox can hide all denied paths.
   */
  readonly gap?: string | undefined;
}

const nothing: DeniedPaths = { hide: [], pin: [], links: [] };

/** Maximum number of entries to check, because each check takes time. */
const maxEntries = 200_000;
/** The same for folders that are searched because a link leads to them. */
const maxLinkedEntries = 20_000;
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
  const outside = await findOutside(policy, globs);
  const inside = await findInside(policy, tool);
  const found = [...outside.hide, ...inside.hide];
  // With a gap, the sandbox still hides the paths that were found, because a user can approve the command.
  const hide = [...new Set(found)].slice(0, maxHidden);
  const tooMany = found.length > maxHidden ? `more than ${maxHidden} paths are denied` : undefined;
  const { links, tooMany: rule } = policy.deniedLinks(tool);
  const unclear = rule && `the rule for ${rule} has too many links to follow`;
  const gap = unclear ?? tooMany ?? inside.gap ?? outside.gap ?? inside.stores.gap(policy, tool);
  const kept = await leadingTo(links, hide);
  const mounted = findMounted(policy.root, hide, maxHidden);
  const pin = foldersAbove(policy.root, [...hide, ...mounted.hide, ...kept]);
  const all = gap ?? mounted.gap;
  return { hide, pin, links: kept, ...(all !== undefined && { gap: all }) };
}

/**
 * Finds the denied paths outside of the workspace that a command in the closed view can reach. `searches` is true if
 * the workspace must be searched for links too, or for the denied paths in it. Nobody approves a command in the closed
 * view, so the result also has the paths that tools may not read without asking.
 */
export async function findDeniedInClosedView(
  policy: PermissionPolicy,
  tool: string,
  searches: boolean,
): Promise<Found> {
  const options = { isReached: isInClosedView, searchesLinks: false };
  const denied = searches
    ? await findDeniedPaths(policy, tool)
    : await findOutside(policy, policy.deniedPaths(tool), options);
  const asked = policy.askedPaths('read').filter(({ decision }) => decision === 'ask');
  const unread = [...policy.deniedPaths('read'), ...asked.map(({ glob }) => glob)];
  const more = await findOutside(policy, unread, options);
  const holder = more.hide.find(holdsPrograms);
  const gap = denied.gap ?? more.gap ?? (holder && `${holder} has programs of the system`);
  return { hide: [...new Set([...denied.hide, ...more.hide])], gap };
}

type SearchRules = Pick<PermissionPolicy, 'mayReach' | 'deniedPaths' | 'deniedEntries'> & {
  /** False if the rules deny no path in a folder. Default: true. */
  readonly mayDenyIn?: ((folder: string) => boolean) | undefined;
};

/** A folder to search, with the rules that apply to its real paths. */
interface SearchedFolder {
  readonly folder: string;
  readonly rules: SearchRules;
  /** True if the folder is the target of a link, and the rules are those for the path of the link. */
  readonly isLinked: boolean;
}

/**
 * Finds the denied paths in the workspace. It searches the upper folders first. If a folder or a name cannot be
 * checked (a gap), it continues with the other folders, so that their denied files are still hidden. A link to a
 * folder is followed if a rule can match a path below the link.
 */
async function findInside(
  policy: PermissionPolicy,
  tool: string,
): Promise<Found & { readonly stores: VersionStores }> {
  const { root } = policy;
  const hide: string[] = [];
  const folders: SearchedFolder[] = [{ folder: root, rules: policy, isLinked: false }];
  const followed = new Set<string>();
  const entries = { inside: 0, linked: 0 };
  const compile = compiledNames();
  const stores = new VersionStores();
  const nextSlice = slices();
  const ofPolicy = policy.deniedEntries(tool);
  let gap: string | undefined;
  for (const { folder, rules, isLinked } of folders) {
    const found = await readdir(folder, { withFileTypes: true }).catch(codeOf);
    if (typeof found === 'string') {
      if (found !== 'ENOENT') gap ??= `${folder} cannot be searched for denied paths`;
      continue;
    }
    entries[isLinked ? 'linked' : 'inside'] += found.length;
    if (entries.inside > maxEntries)
      return { hide, stores, gap: `the workspace has more than ${maxEntries} entries` };
    if (entries.linked > maxLinkedEntries)
      return { hide, stores, gap: `linked folders have more than ${maxLinkedEntries} entries` };
    if (!isLinked)
      stores.add(
        folder,
        found.map(({ name }) => name),
      );
    const isDenied = rules === policy ? ofPolicy(folder) : rules.deniedEntries(tool)(folder);
    const globs = rules.deniedPaths(tool);
    for (const entry of found) {
      // A folder can have many entries, and other work of the process must go on.
      const pause = nextSlice();
      if (pause !== undefined) await pause;
      const path = join(folder, entry.name);
      if (entry.name.includes(undecodable)) {
        gap ??= `the name ${path} cannot be checked`;
        continue;
      }
      if (isObjectFolder(path)) continue;
      if (entry.isSymbolicLink()) {
        const target = await realpath(path).catch(() => undefined);
        if (target === undefined) continue;
        const below = rulesBelow(globs, { compile, root, link: path, target });
        // A link is not hidden, because a rule can allow its target. If the link is denied, its target is hidden.
        if (isDeniedLink(rules, tool, path)) {
          if (isProgramPlace(target)) gap ??= `${path} leads to programs of the system`;
          else if (isInside(target, root))
            gap ??= `${path} leads to a folder that contains the workspace`;
          else hide.push(target);
        } else if (below === undefined) gap ??= `${path} leads to paths that may be denied`;
        else if (below.length > 0 && (await isFolder(target))) {
          const key = [target, ...below].join('\0');
          if (followed.has(key)) continue;
          followed.add(key);
          folders.push({ folder: target, rules: rulesFor(root, below), isLinked: true });
        }
        continue;
      }
      if (!isDenied(entry.name)) {
        if (entry.isDirectory() && rules.mayDenyIn?.(path) !== false)
          folders.push({ folder: path, rules, isLinked });
      } else if (isLinked && isProgramPlace(path))
        gap ??= `${path} has programs of the system, and a rule denies a link to it`;
      else hide.push(path);
      if (hide.length > maxHidden) return { hide, stores, gap };
    }
  }
  return { hide, stores, gap };
}

/** True if a rule denies a link, or the files below it. */
function isDeniedLink(rules: SearchRules, tool: string, link: string): boolean {
  return [link, join(link, 'file')].some((path) => !rules.mayReach(tool, { path, kind: 'read' }));
}

/** Returns rules that deny absolute globs. The search itself follows the links. */
function rulesFor(root: string, globs: readonly string[]): SearchRules {
  const matchers = globs.map((glob) => pathMatcher(glob, { isWide: true }));
  const isMatch = (path: LexicalPath) => matchers.some((matches) => matches(path));
  const entries = globs.map((glob) => entryMatcher(glob));
  const bases = globs.map((glob) => splitGlob(glob).base);
  return {
    deniedPaths: () => globs,
    mayDenyIn: (folder) => bases.some((base) => isInside(base, folder) || isInside(folder, base)),
    deniedEntries: () => (folder) => {
      const path = lexicalPath(root, folder);
      const tests = entries.flatMap((testsIn) => testsIn(path));
      return anyTest(path, tests, isMatch);
    },
    mayReach: (_, { path }) => !isMatch(lexicalPath(root, path)),
  };
}

interface FollowedLink {
  /** Returns a function that tests a name. */
  readonly compile: (glob: string) => (name: string) => boolean;
  readonly root: string;
  readonly link: string;
  readonly target: string;
}

/**
 * Returns absolute globs for the real paths of what the globs deny below a link. The result omits globs that apply
 * in any folder, such as `.env`: the search finds a target in the workspace by its own path too, and the
 * sandbox does not hide such names outside of the workspace. Returns undefined if the names of a glob cannot be
 * compared with the link.
 */
function rulesBelow(
  globs: readonly string[],
  { compile, root, link, target }: FollowedLink,
): readonly string[] | undefined {
  const found = new Set<string>();
  for (const glob of globs) {
    const isAbsoluteGlob = glob.startsWith('/');
    if (!glob.includes('/') || !(isAbsoluteGlob || isInside(root, link))) continue;
    const from = isAbsoluteGlob ? '/' : root;
    const base = join(from, splitGlob(glob).base);
    if (!isInside(base, link) && !isInside(link, base)) continue;
    // A group can contain slashes, so its names cannot be compared one by one.
    if (/[{(][^})]*\//.test(glob)) return undefined;
    const names = namesOf(glob.replace(/^(?:\.\/)+/, ''));
    const start = Math.max(
      0,
      names.findIndex((name) => name !== '**'),
    );
    for (const rest of restsBelow(names, namesOf(link.slice(from.length)), true, compile)) {
      // Such a rest applies in all folders of the workspace, as a rule without a slash.
      if (start > 0 && rest.length >= names.length - start) continue;
      found.add([escapeGlob(target), ...(rest.length === 0 ? ['**'] : rest)].join('/'));
    }
  }
  return [...found].toSorted();
}

/** Returns a function that compiles each glob once. */
function compiledNames(): FollowedLink['compile'] {
  const known = new Map<string, (name: string) => boolean>();
  return (glob) => {
    const fits = known.get(glob) ?? compileGlob(glob, { nocase: true });
    known.set(glob, fits);
    return fits;
  };
}

function namesOf(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '');
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/** True for the objects of a repository. Their names are hashes, and there are many of them. */
function isObjectFolder(path: string): boolean {
  return path.endsWith(join(sep, '.git', 'objects'));
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
