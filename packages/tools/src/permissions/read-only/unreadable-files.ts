import { lstat, readdir, realpath } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { repositoryKinds } from '../../git/repositories/read-folder.ts';
import { slices } from '../../slices.ts';
import { type PermissionPolicy, permissionPolicy } from '../permission-policy.ts';
import type { PermissionRule } from '../permission-rule.ts';
import { splitCommand } from '../split-command.ts';
import { parseReadOnlyCommand, type ReadPath } from './read-only-command.ts';

const maxEntries = 20_000;
const maxHidden = 500;
/**
 * The folder of installed packages. It is large, and its files are published. It is therefore searched only
 * for paths in the user's rules.
 */
const packagesName = 'node_modules';
/** Maximum number of entries in package folders. If there are more, the user must approve the line. */
const maxPackageEntries = 100_000;

/** The programs that read only files that appear in the line. */
const plainReaders: ReadonlySet<string> = new Set(
  `[ basename cat cd cut date dirname echo false head ls nl printf pwd sed sort stat tail test true
  uniq wc which whoami`.split(/\s+/),
);

/**
 * True if a line may read a file in a package folder. Programs that are not in `plainReaders` read complete
 * folders or run code.
 */
export function mayReachPackages(line: string): boolean {
  return splitCommand(line).parts.some(
    ([program, ...words]) =>
      !plainReaders.has(program?.text ?? '') ||
      words.some(({ text, isPlain }) => !isPlain || text.includes(packagesName)),
  );
}

/**
 * Returns a check for files in packages. It refuses files for which a rule denies or asks, but accepts files
 * that only look like secrets. Returns undefined if no rule contains a path.
 */
function packageCheck(policy: PermissionPolicy): PermissionPolicy['mayRead'] | undefined {
  const isStrict = ({ decision, path }: PermissionRule) =>
    decision !== 'allow' && path !== undefined;
  const strict = [...policy.rules, ...policy.remembered].filter(isStrict);
  if (strict.length === 0) return undefined;
  const { root } = policy;
  return permissionPolicy({ root, rules: [{ decision: 'allow' }, ...strict] }).mayRead;
}
/**
 * The git folder. It contains old versions of hidden files, and its settings often contain a password. A git folder
 * with a different name is found by its entries.
 */
const repository = '.git';

/**
 * The character that replaces bytes that are not valid UTF-8. A path with this character is not the real path
 * of the file.
 */
const undecodable = '\uFFFD';

interface Unreadable {
  readonly hidden: readonly string[];
  /** The names of links that lead out of the root. The sandbox cannot hide links. */
  readonly leaving: ReadonlySet<string>;
}

/**
 * Returns the files below the root that tools may not read without asking. Returns undefined if not all of
 * them can be hidden: there are too many files, a folder cannot be listed, or a name is not valid UTF-8. It
 * searches package folders only if the line may reach them.
 */
export async function findUnreadable(
  policy: PermissionPolicy,
  reachesPackages: boolean,
): Promise<Unreadable | undefined> {
  const { root } = policy;
  const ofPackages = reachesPackages ? packageCheck(policy) : undefined;
  const hidden: string[] = [];
  const leaving = new Set<string>();
  const pending = [{ folder: '', isPackage: false }];
  const nextSlice = slices();
  let [entries, packageEntries] = [0, 0];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { folder } = next;
    const found = await readdir(join(root, folder), { withFileTypes: true }).catch(codeOf);
    if (typeof found === 'string') {
      // The folder cannot be listed, but its files may still be readable by their names.
      if (found !== 'EACCES' || folder === '') return undefined;
      hidden.push(join(root, folder));
      continue;
    }
    if (next.isPackage) packageEntries += found.length;
    else entries += found.length;
    const isTooMuch = entries > maxEntries || packageEntries > maxPackageEntries;
    if (isTooMuch || hidden.length > maxHidden) return undefined;
    if (repositoryKinds(found.map(({ name }) => name)).isBare) {
      hidden.push(folder === '' ? join(root, 'objects') : join(root, folder));
      if (folder !== '') continue;
    }
    for (const entry of found) {
      const pause = nextSlice();
      if (pause !== undefined) await pause;
      if (entry.name.includes(undecodable)) return undefined;
      const path = join(folder, entry.name);
      const isPackage = next.isPackage || (entry.isDirectory() && entry.name === packagesName);
      const mayRead = isPackage ? ofPackages : policy.mayRead;
      // A link inside the root is not hidden. If its target must not be read, the target itself is hidden.
      if (entry.isSymbolicLink() && !isPackage && (await leadsOut(root, path)))
        leaving.add(entry.name);
      if (entry.isSymbolicLink() || mayRead === undefined) continue;
      if (entry.name === repository || !mayRead({ path, kind: 'read' }))
        hidden.push(join(root, path));
      else if (entry.isDirectory()) pending.push({ folder: path, isPackage });
    }
  }
  return { hidden, leaving };
}

/** True if a link leads out of the root. A broken link does not count, because it shows no content. */
async function leadsOut(root: string, path: string): Promise<boolean> {
  const target = await realpath(join(root, path)).catch(() => root);
  return target !== root && !target.startsWith(join(root, sep));
}

/**
 * True if a line may follow one of the links. The line contains the name of the link, has a wildcard that could match
 * it, has an option that follows links, or compares folders, in which `diff` follows all links.
 */
export async function mayFollow(
  line: string,
  links: ReadonlySet<string>,
  root: string,
): Promise<boolean> {
  if (links.size === 0) return false;
  const { parts } = splitCommand(line);
  const isNamed = parts.some(([program, ...words]) => {
    const option = followingOptions.get(program?.text ?? '');
    return words.some(
      ({ text, isPlain }) => !isPlain || option?.test(text) === true || namesLink(text, links),
    );
  });
  if (isNamed) return true;
  const diffs = parts.filter(([program]) => program?.text === 'diff');
  if (diffs.length === 0) return false;
  // The paths are checked in the root.
  if (parts.some(([program]) => program?.text === 'cd')) return true;
  const paths = diffs.map((words) => parseReadOnlyCommand(words)?.paths);
  if (paths.some((one) => one === undefined)) return true;
  const files = await Promise.all(
    paths.flatMap((one) => one ?? []).map((one) => isFile(root, one)),
  );
  return files.includes(false);
}

/** True if a word contains the name of a link: in a path, in a list, or after the letter of an option. */
function namesLink(text: string, links: ReadonlySet<string>): boolean {
  const names = text.split(/[/=,:;]/);
  if (names.some((name) => links.has(name))) return true;
  const [first = ''] = names;
  return /^[-+@]/.test(first) && [...links].some((link) => first.endsWith(link));
}

async function isFile(root: string, { path, mustBeAbsent }: ReadPath): Promise<boolean> {
  if (mustBeAbsent) return true;
  const stats = await lstat(resolve(root, path)).catch(() => undefined);
  return stats?.isFile() === true;
}

/**
 * The options with which programs follow links that do not appear in the line, also in joined and abbreviated forms.
 * Some programs read names of files from a file, for example `strings @list`.
 */
const followingOptions: ReadonlyMap<string, RegExp> = new Map([
  ...['grep', 'egrep', 'fgrep'].map((name) => [name, /^-[^-]*[ROS]|^--d/] as const),
  ...[
    'cksum',
    'md5sum',
    'b2sum',
    'sha1sum',
    'sha224sum',
    'sha256sum',
    'sha384sum',
    'sha512sum',
  ].map((name) => [name, /^-[^-]*c|^--c/] as const),
  ['find', /^-[LH]$|^-follow$/],
  ['tree', /^-[^-]*l|^--f/],
  ['ls', /^-[^-]*[LH]|^--d(?!irectory$)/],
  ['du', /^-[^-]*[LDHX]|^--[def]/],
  ['fd', /^-[^-]*L|^--f/],
  ['rg', /^-[^-]*L|^--fo/],
  ['wc', /^--f/],
  ['jq', /^-[^-]*L|\b(?:import|include)\b/],
  ['strings', /^@/],
]);

function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? 'unknown';
}
