import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { commandOf, type PolicyCall } from '../permissions/decide.ts';
import { type PermissionPolicy, permissionPolicy } from '../permissions/permission-policy.ts';
import { isReadOnlyLine } from '../permissions/read-only/read-only-line.ts';
import { splitCommand } from '../permissions/split-command.ts';

/**
 * Decides which commands run without approval because a sandbox confines them to reading. Pass the
 * same object to `approveInSandbox` and `bashTool`.
 */
export interface UnaskedReading {
  /**
   * Returns the paths to hide from the command, or undefined if the command must not run this way:
   * it may do more than read, it uses git, a rule decides on it, or it names a path that tools may
   * not read.
   */
  hiddenPaths(call: PolicyCall): Promise<readonly string[] | undefined>;
  /**
   * Allows a call without approval if it can be confined to reading. Remembers the call until
   * `placeOf`, so that it runs in no other way. Returns false if somebody has to approve it.
   */
  allow(call: PolicyCall, toolCallId: string): Promise<boolean>;
  /** Decides where a call runs. Call it right before the command starts. */
  placeOf(call: PolicyCall, toolCallId: string): Promise<ReadingPlace>;
}

/**
 * Where a command runs. `closed`: it can only read, and not the paths in `hide`. `profile`: as the
 * profile of the sandbox says, because it was approved. `refused`: it was allowed only because it
 * could be confined to reading, and now it cannot be.
 */
export type ReadingPlace =
  | { readonly place: 'closed'; readonly hide: readonly string[] }
  | { readonly place: 'profile' | 'refused' };

/** Maximum number of allowed calls that have not started. Further calls need approval. */
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
  // The files and the rules can change between the decision and the execution.
  const allowed = new Set<string>();
  const keyOf = (call: PolicyCall, id: string) => JSON.stringify([id, commandOf(call)]);
  const hiddenPaths: UnaskedReading['hiddenPaths'] = async (call) => {
    const policy = current();
    const line = commandOf(call);
    if (line === undefined || !isReadOnlyLine(line) || asksForMore(call)) return undefined;
    // Git can print old versions of hidden files, so only the policy judges it.
    if (usesGit(line)) return undefined;
    if (isDecidedByRule(policy, call) || !namesReadablePaths(policy, line)) return undefined;
    return findUnreadable(policy);
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

/** Tells whether a rule allows the call, so that it may run in the profile of the sandbox. */
function isAllowedByRule(policy: PermissionPolicy, call: PolicyCall): boolean {
  const { decision, readOnlyCommands } = policy.decide(call);
  return asksForMore(call) === undefined && decision === 'allow' && readOnlyCommands === undefined;
}

/** The fields of a call that ask for more than the sandbox gives. */
export function asksForMore({ input }: PolicyCall): 'outside' | 'network' | undefined {
  const fields = (input ?? {}) as {
    readonly outside_sandbox?: unknown;
    readonly network?: unknown;
  };
  if (fields.outside_sandbox === true) return 'outside';
  return fields.network === true ? 'network' : undefined;
}

/** Tells whether a rule allows, asks for or denies the call, or one of its commands. */
function isDecidedByRule(policy: PermissionPolicy, call: PolicyCall): boolean {
  const { decision, readOnlyCommands } = policy.decide(call);
  if (decision === 'deny' || (decision === 'allow' && readOnlyCommands === undefined)) return true;
  // With a first rule that allows all commands, only a rule can still ask.
  const allowing = { tool: call.tool, decision: 'allow' } as const;
  const lenient = permissionPolicy({ ...policy, rules: [allowing, ...policy.rules] });
  return lenient.decide(call).decision !== 'allow';
}

/** Checks each word that could be a path, also the value of an option such as `--file=x`. */
function namesReadablePaths(policy: PermissionPolicy, line: string): boolean {
  const words = splitCommand(line).parts.flatMap((part) => part.slice(1));
  return words
    .map(({ text }) => (text.startsWith('-') ? (/=(.*)/s.exec(text)?.[1] ?? '') : text))
    .every((path) => path === '' || policy.mayRead({ path, kind: 'read' }));
}

function usesGit(line: string): boolean {
  return splitCommand(line).parts.some(([program]) => program?.text === 'git');
}

const maxEntries = 20_000;
const maxHidden = 500;
/** Folders of packages are not searched: they are large, and others wrote them. */
const skipped = 'node_modules';
/** Holds old versions of hidden files, and often a password in its settings. */
const repository = '.git';

/**
 * Finds the files below the root that tools may not read without asking. Returns undefined if there
 * are too many files to check.
 */
async function findUnreadable({
  root,
  mayRead,
}: PermissionPolicy): Promise<readonly string[] | undefined> {
  const hidden: string[] = [];
  const pending = [''];
  let entries = 0;
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const found = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
    entries += found.length;
    if (entries > maxEntries || hidden.length > maxHidden) return undefined;
    for (const entry of found) {
      const path = join(folder, entry.name);
      // A link is judged by what it leads to, which is either hidden itself or not there.
      if (entry.isSymbolicLink() || (entry.isDirectory() && entry.name === skipped)) continue;
      if (entry.name === repository || !mayRead({ path, kind: 'read' }))
        hidden.push(join(root, path));
      else if (entry.isDirectory()) pending.push(path);
    }
  }
  return hidden;
}
