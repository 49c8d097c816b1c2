import { resolve } from 'node:path';
import { commandOf, type PolicyCall } from '../permissions/decide.ts';
import { type PermissionPolicy, permissionPolicy } from '../permissions/permission-policy.ts';
import { isReadOnlyLine } from '../permissions/read-only/read-only-line.ts';
import {
  findUnreadable,
  mayFollow,
  mayReachPackages,
} from '../permissions/read-only/unreadable-files.ts';
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
    const found = await findUnreadable(policy, mayReachPackages(line));
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
      if (real === undefined) continue;
      if (!lexicalPath(policy.root, real.real).isInside) return false;
      if (!policy.mayRead({ path: real.real, kind: 'read' })) return false;
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
