import { readdir, realpath } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { commandOf, type PolicyCall } from '../permissions/decide.ts';
import { type PermissionPolicy, permissionPolicy } from '../permissions/permission-policy.ts';
import { isReadOnlyLine } from '../permissions/read-only/read-only-line.ts';
import { splitCommand, type Word } from '../permissions/split-command.ts';
import { lexicalPath } from '../workspace/match-path.ts';
import { realPathOf } from '../workspace/resolve-path.ts';

/**
 * Decides which commands run without approval because a sandbox lets them only read. Pass the same object
 * to `approveInSandbox` and `bashTool`.
 */
export interface UnaskedReading {
  /**
   * Returns the paths to hide from the command. Undefined if the command needs an approval. That is so if
   * it may do more than read, uses git, is covered by a rule, or names a path that tools may not read.
   */
  hiddenPaths(call: PolicyCall): Promise<readonly string[] | undefined>;
  /**
   * Allows a call without approval if the sandbox can let it only read. The call is stored until
   * `placeOf`, so that it runs in no other way. Returns false if a user has to approve the call.
   */
  allow(call: PolicyCall, toolCallId: string): Promise<boolean>;
  /** Returns how the sandbox confines a tool call. Call it immediately before the command starts. */
  placeOf(call: PolicyCall, toolCallId: string): Promise<ReadingPlace>;
}

/**
 * How a command is confined. `closed`: it can only read, and not the paths in `hide`. `profile`: the
 * profile of the sandbox applies, because the command was approved. `refused`: the command was allowed
 * only because it could be confined to reading, which is no longer possible.
 */
export type ReadingPlace =
  | { readonly place: 'closed'; readonly hide: readonly string[] }
  | { readonly place: 'profile' | 'refused' };

/** Maximum number of allowed calls that have not started yet. Further calls need an approval. */
const maxAllowed = 10_000;

/**
 * Creates an `UnaskedReading` for a policy. The policy is read for each command, so rules that are
 * added later apply as well.
 *
 * @example
 * const reading = unaskedReading(() => policy);
 * const bash = bashTool({ workspace, sandbox, reading });
 * const approve = approveInSandbox(() => policy, approveByPolicy(policy, workspace), reading);
 */
export function unaskedReading(current: () => PermissionPolicy): UnaskedReading {
  // The allowed calls are stored, because files and rules can change between the decision and the
  // execution.
  const allowed = new Set<string>();
  const keyOf = (call: PolicyCall, id: string) => JSON.stringify([id, commandOf(call)]);
  const hiddenPaths: UnaskedReading['hiddenPaths'] = async (call) => {
    const policy = current();
    const line = commandOf(call);
    if (line === undefined || !isReadOnlyLine(line) || asksForMore(call)) return undefined;
    // Git can print old versions of hidden files, so only the policy decides about it.
    if (usesGit(line)) return undefined;
    if (isDecidedByRule(policy, call) || !(await namesReadablePaths(policy, line)))
      return undefined;
    const found = await findUnreadable(policy);
    return found === undefined || mayFollow(line, found.leaving) ? undefined : found.hidden;
  };
  return {
    hiddenPaths,
    async allow(call, id) {
      const isConfined = (await hiddenPaths(call)) !== undefined && allowed.size < maxAllowed;
      if (isConfined) allowed.add(keyOf(call, id));
      else allowed.delete(keyOf(call, id));
      return isConfined;
    },
    async placeOf(call, id) {
      const wasAllowed = allowed.delete(keyOf(call, id));
      const hide = await hiddenPaths(call);
      if (hide !== undefined) return { place: 'closed', hide };
      return { place: wasAllowed && !isAllowedByRule(current(), call) ? 'refused' : 'profile' };
    },
  };
}

/** True if a rule allows the call. It may then run in the profile of the sandbox. */
function isAllowedByRule(policy: PermissionPolicy, call: PolicyCall): boolean {
  const { decision, readOnlyCommands } = policy.decide(call);
  return asksForMore(call) === undefined && decision === 'allow' && readOnlyCommands === undefined;
}

/**
 * Returns `outside` if a call asks to run outside of the sandbox, and `network` if it asks for the
 * network. Otherwise undefined.
 */
export function asksForMore({ input }: PolicyCall): 'outside' | 'network' | undefined {
  const fields = (input ?? {}) as {
    readonly outside_sandbox?: unknown;
    readonly network?: unknown;
  };
  if (fields.outside_sandbox === true) return 'outside';
  return fields.network === true ? 'network' : undefined;
}

/** True if a rule allows, asks for or denies the call or one of its commands. */
function isDecidedByRule(policy: PermissionPolicy, call: PolicyCall): boolean {
  const { decision, readOnlyCommands } = policy.decide(call);
  if (decision === 'deny' || (decision === 'allow' && readOnlyCommands === undefined)) return true;
  // A first rule that allows all commands is added. If the decision is still not `allow`, another rule
  // asks.
  const allowing = { tool: call.tool, decision: 'allow' } as const;
  const lenient = permissionPolicy({ ...policy, rules: [allowing, ...policy.rules] });
  return lenient.decide(call).decision !== 'allow';
}

/**
 * True if the line names only paths that tools may read. It checks each word that could be a path, also
 * the value of an option such as `--file=x` or `-f/x`. A link must not lead out of the root.
 */
async function namesReadablePaths(policy: PermissionPolicy, line: string): Promise<boolean> {
  const { parts } = splitCommand(line);
  const words = parts.flatMap((part) => part.slice(1));
  // The shell would turn such words into other paths, for example `{/etc/passwd,x}` and `~/x`.
  if (words.some(({ text, isPlain }) => !isPlain && /[{}~]/.test(text))) return false;
  const paths = words.flatMap(({ text }) => pathsIn(text));
  if (!paths.every((path) => policy.mayRead({ path, kind: 'read' }))) return false;
  const folders = visitedFolders(policy.root, parts);
  if (folders === undefined) return false;
  for (const folder of folders)
    for (const path of paths) {
      // A path that cannot be resolved cannot be opened either, so it is accepted.
      const real = await realPathOf(folder, path).catch(() => undefined);
      if (real !== undefined && !lexicalPath(policy.root, real.real).isInside) return false;
    }
  return true;
}

/** Returns the paths that a word may name. `strings @x` reads words from the file x. */
function pathsIn(text: string): readonly string[] {
  if (!text.startsWith('-')) return [text, text.replace(/^@/, '')].filter((path) => path !== '');
  const values = [/=(.+)/s.exec(text)?.[1], /\/.+/s.exec(text)?.[0]];
  return values.filter((value) => value !== undefined);
}

/** Maximum number of folders in which a command of a line may run. */
const maxVisited = 64;

/** Returns the folders in which a command of the line may run. Undefined if there are too many. */
function visitedFolders(
  root: string,
  parts: readonly (readonly Word[])[],
): readonly string[] | undefined {
  let folders: readonly string[] = [root];
  for (const [program, target] of parts) {
    if (program?.text !== 'cd' || target === undefined) continue;
    folders = [...folders, ...folders.map((folder) => resolve(folder, target.text))];
    if (folders.length > maxVisited) return undefined;
  }
  return folders;
}

function usesGit(line: string): boolean {
  return splitCommand(line).parts.some(([program]) => program?.text === 'git');
}

const maxEntries = 20_000;
const maxHidden = 500;
/** The folder of packages. It is not searched, because it is large and its files are published. */
const skipped = 'node_modules';
/** The git folder. It holds old versions of hidden files, and often a password in its settings. */
const repository = '.git';

/**
 * The character that replaces bytes that are not valid text. A path with it is not the real path of the
 * file.
 */
const undecodable = '\uFFFD';

interface Unreadable {
  readonly hidden: readonly string[];
  /** The names of links that lead out of the root. Links cannot be hidden. */
  readonly leaving: ReadonlySet<string>;
}

/**
 * Returns the files below the root that tools may not read without asking. Undefined if not all of them
 * can be hidden. That is so if there are too many files, a folder cannot be listed, or a name is not
 * valid text.
 */
async function findUnreadable({
  root,
  mayRead,
}: PermissionPolicy): Promise<Unreadable | undefined> {
  const hidden: string[] = [];
  const leaving = new Set<string>();
  const pending = [''];
  let entries = 0;
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const found = await readdir(join(root, folder), { withFileTypes: true }).catch(codeOf);
    if (typeof found === 'string') {
      // The folder cannot be listed, but its files may still be readable by their names.
      if (found !== 'EACCES' || folder === '') return undefined;
      hidden.push(join(root, folder));
      continue;
    }
    entries += found.length;
    if (entries > maxEntries || hidden.length > maxHidden) return undefined;
    for (const entry of found) {
      if (entry.name.includes(undecodable)) return undefined;
      const path = join(folder, entry.name);
      // A link inside the root is not hidden. If the file that it leads to must not be read, that file is
      // hidden.
      if (entry.isSymbolicLink() && (await leadsOut(root, path))) leaving.add(entry.name);
      if (entry.isSymbolicLink() || (entry.isDirectory() && entry.name === skipped)) continue;
      if (entry.name === repository || !mayRead({ path, kind: 'read' }))
        hidden.push(join(root, path));
      else if (entry.isDirectory()) pending.push(path);
    }
  }
  return { hidden, leaving };
}

/** True if a link leads out of the root. A broken link shows nothing, so it does not count. */
async function leadsOut(root: string, path: string): Promise<boolean> {
  const target = await realpath(join(root, path)).catch(() => root);
  return target !== root && !target.startsWith(join(root, sep));
}

/**
 * True if a line may follow one of the links. Such a line names the link in a path, or has a wildcard
 * that could match it. A line with an option that follows all links in a folder counts too.
 */
function mayFollow(line: string, links: ReadonlySet<string>): boolean {
  if (links.size === 0) return false;
  return splitCommand(line).parts.some(([program, ...words]) => {
    const option = followingOptions.get(program?.text ?? '');
    return words.some(
      ({ text, isPlain }) =>
        !isPlain || option?.test(text) || text.split(/[/=]/).some((name) => links.has(name)),
    );
  });
}

const followingGrep = /^-[a-zA-Z]*R|^--deref/;
const followingLinks = /^-[a-zA-Z]*[LDH]|^--deref|^--follow/;

/** The options with which programs follow links that the line does not name. */
const followingOptions: ReadonlyMap<string, RegExp> = new Map([
  ['grep', followingGrep],
  ['egrep', followingGrep],
  ['fgrep', followingGrep],
  ['diff', /^-[a-zA-Z]*r|^--rec/],
  ['find', /^-[LH]$|^-follow$/],
  ['tree', /^-[a-zA-Z]*l/],
  ...['ls', 'du', 'fd', 'rg'].map((name) => [name, followingLinks] as const),
]);

function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? 'unknown';
}
