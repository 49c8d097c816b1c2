import { resolve } from 'node:path';
import type { CheckedToolCall, StepInfo } from '@millrace/agent';
import type { SandboxRequest } from '../contract/sandbox.ts';
import { errorCodeOf } from '../contract/workspace-error.ts';
import { commandOf, type PolicyCall, type PolicyDecision } from '../permissions/decide.ts';
import { type PermissionPolicy, permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { isProtectedName, protectedNames } from '../permissions/protected-paths.ts';
import { isReadOnlyLine } from '../permissions/read-only/read-only-line.ts';
import {
  findUnreadable,
  mayFollow,
  mayReachPackages,
} from '../permissions/read-only/unreadable-files.ts';
import { splitCommand, type Word } from '../permissions/split-command.ts';
import { isInside, lexicalPath } from '../workspace/match-path.ts';
import { realPathOf } from '../workspace/resolve-path.ts';
import { type DeniedPaths, findDeniedInClosedView, findDeniedPaths } from './hidden-paths.ts';
import { asksForMore } from './more-permissions.ts';
import { isInClosedView } from './places/closed-view.ts';

/**
 * Selects the commands that run without approval in a sandbox that only permits reading. Pass the same object
 * to `approveInSandbox` and `bashTool`. `key` identifies a call: it is `ToolContext.idempotencyKey`.
 */
export interface UnaskedReading {
  /**
   * Returns the paths to hide from the command. Returns undefined if the command needs an approval: it may do
   * more than read, uses git, is covered by a rule, or contains a path that tools may not read.
   */
  hiddenPaths(call: PolicyCall): Promise<readonly string[] | undefined>;
  /**
   * Allows a call without approval if the sandbox can restrict it to reading. The call is stored until
   * `placeOf` is called, so it cannot run with more permissions. Returns false if a user must approve the
   * call.
   */
  allow(call: PolicyCall, key: string): Promise<boolean>;
  /**
   * Requests that the sandbox hides all paths that a rule denies for this call. Returns the reason if the
   * sandbox cannot hide all of them. Otherwise it returns undefined and stores the call until `placeOf` is
   * called, so the call cannot run without this restriction.
   */
  hideDenied(call: PolicyCall, key: string): Promise<string | undefined>;
  /**
   * Stores that a mode allowed a call without an approval, until `placeOf` is called. The sandbox then guards
   * the files that make other programs run code. Returns false if a user must approve the call.
   */
  guardProtected(call: PolicyCall, key: string): boolean;
  /** Undoes `guardProtected`, because a person has allowed exactly this call. */
  releaseProtected(call: PolicyCall, key: string): void;
  /**
   * Stores that a person, a rule for exactly this line, or a rule for all commands allowed a call, until
   * `placeOf` is called. Without this, the command gets no additional variables of the environment. A later
   * `guardProtected` for the call has precedence.
   */
  giveEnv(call: PolicyCall, key: string): void;
  /** True while a command that can change files of the workspace runs. Default: nobody knows. */
  readonly isChanging?: (() => boolean) | undefined;
  /** Returns how the sandbox confines a tool call. Call it immediately before the command starts. */
  placeOf(call: PolicyCall, key: string): Promise<ReadingPlace>;
}

/**
 * The session and the turn of a call, and whether a person has allowed it. An `approve` function gets them as its
 * second argument.
 */
export type CallPlace = Pick<StepInfo, 'session' | 'turn' | 'isAnswered'>;

/**
 * Returns the key of a call for `UnaskedReading`. It equals `ToolContext.idempotencyKey`. The id of a call is not
 * enough, because sub-agents and later turns can use the same id again.
 */
export function callKey(
  { call }: Pick<CheckedToolCall, 'call'>,
  { session, turn }: CallPlace,
): string {
  return `${session}:${turn}:${call.toolCallId}`;
}

/**
 * Describes how a command is confined. `closed`: it can only read, and not the paths in `hide`. `profile`:
 * the profile of the sandbox applies, because a user, a rule or a mode allowed the command. The command
 * cannot use the paths in `hide`, cannot rename the folders in `pin`, cannot change the links in `links`, cannot
 * change or create the paths in `protect`, and cannot create the names in `protectNew`. The sandbox stops a
 * command if a path of `hideNew` appears. With `getsEnv`, the command gets the additional variables of the environment. `refused`: the command
 * was allowed only with a restriction, which is no longer possible.
 */
export type ReadingPlace =
  | ({ readonly place: 'closed'; readonly hide: readonly string[] } & Pick<
      SandboxRequest,
      'hideNew'
    >)
  | ({ readonly place: 'profile'; readonly getsEnv?: boolean } & Pick<
      DeniedPaths,
      'hide' | 'pin' | 'links'
    > &
      Pick<SandboxRequest, 'hideNew' | 'protect' | 'protectNew'>)
  | { readonly place: 'refused' };

/**
 * Returns the fields of a sandbox request that confine a command to its place. It passes on all fields, so no caller
 * can forget one of them.
 */
export function confinementOf(
  place: Exclude<ReadingPlace, { readonly place: 'refused' }>,
): Omit<SandboxRequest, 'root' | 'command' | 'env' | 'network' | 'show'> {
  if (place.place === 'closed') {
    const { place: view, ...fields } = place;
    return { ...fields, view };
  }
  const { place: _place, getsEnv: _getsEnv, ...fields } = place;
  return fields;
}

/** Maximum number of allowed calls that have not started yet. More calls need an approval. */
const maxAllowed = 10_000;

/**
 * Creates an `UnaskedReading` for a policy. It reads the policy for each command, so later rules apply too.
 *
 * `elsewhere` returns the policies of further folders that commands can read, for example the folder of which the
 * root is a copy. The sandbox also hides what they deny. Default: none. `isChanging` tells whether a command that can
 * change files of the workspace runs, see `Sandbox.isChanging`. Rules for git then ask. Default: they do not, and
 * `bashTool` refuses such a command.
 *
 * @example
 * const reading = unaskedReading(() => policy);
 * const bash = bashTool({ workspace, sandbox, reading });
 * const approve = approveInSandbox(() => policy, approveByPolicy(policy, workspace), reading);
 */
export function unaskedReading(
  current: () => PermissionPolicy,
  elsewhere: () => readonly PermissionPolicy[] = () => [],
  isChanging?: () => boolean,
): UnaskedReading {
  // The allowed calls are stored, because files and rules can change between the decision and the execution.
  const allowed = new Set<string>();
  const hiding = new Set<string>();
  const guarding = new Set<string>();
  const approved = new Set<string>();
  const markOf = (call: PolicyCall, key: string) => JSON.stringify([key, commandOf(call)]);
  const findDenied = async (tool: string): Promise<DeniedPaths> => {
    const { pin, links, ...own } = await findDeniedPaths(current(), tool);
    const others = await Promise.all(elsewhere().map((policy) => findDeniedPaths(policy, tool)));
    // The command cannot change the other folders, so nothing is pinned there.
    return {
      ...{ pin, links },
      hide: [...new Set([own, ...others].flatMap(({ hide }) => hide))],
      gap: [own, ...others].find(({ gap }) => gap !== undefined)?.gap,
    };
  };
  const hiddenPaths: UnaskedReading['hiddenPaths'] = async (call) => {
    const policy = current();
    const line = commandOf(call);
    if (line === undefined || !isReadOnlyLine(line) || asksForMore(call)) return undefined;
    // Git can print old versions of hidden files, so only the policy decides about git commands.
    if (usesGit(line)) return undefined;
    if (isDecidedByRule(policy, call) || !(await namesReadablePaths(policy, line)))
      return undefined;
    const found = await findUnreadable(policy, mayReachPackages(line));
    if (found === undefined || (await mayFollow(line, found.leaving, policy.root)))
      return undefined;
    const { tool } = call;
    // A rule such as `**/conf/*.key` also denies files below a link, which only a search finds.
    const isDeep = policy.deniedPaths(tool).some((glob) => /(?:^|\/)\*\*\/.*\//.test(glob));
    const outside = await Promise.all([
      findDeniedInClosedView(policy, tool, isDeep && found.leaving.size > 0),
      ...elsewhere().map((one) => findDeniedInClosedView(one, tool, isInClosedView(one.root))),
    ]);
    if (outside.some(({ gap }) => gap !== undefined)) return undefined;
    return [...new Set([...found.hidden, ...outside.flatMap(({ hide }) => hide)])];
  };
  return {
    isChanging,
    hiddenPaths,
    async allow(call, key) {
      const isConfined = (await hiddenPaths(call)) !== undefined && allowed.size < maxAllowed;
      if (isConfined) allowed.add(markOf(call, key));
      else allowed.delete(markOf(call, key));
      return isConfined;
    },
    async hideDenied(call, key) {
      if (current().deniedPaths(call.tool).length === 0) return undefined;
      const { gap } = await findDenied(call.tool);
      const isFull = hiding.size >= maxAllowed;
      if (gap === undefined && !isFull) hiding.add(markOf(call, key));
      else hiding.delete(markOf(call, key));
      return gap ?? (isFull ? 'too many commands are waiting' : undefined);
    },
    guardProtected(call, key) {
      if (guarding.size >= maxAllowed) return false;
      guarding.add(markOf(call, key));
      return true;
    },
    releaseProtected: (call, key) => void guarding.delete(markOf(call, key)),
    giveEnv(call, key) {
      approved.add(markOf(call, key));
      // A call that a person refuses never starts. The oldest call then gets fewer variables.
      for (const oldest of approved) {
        if (approved.size <= maxAllowed) break;
        approved.delete(oldest);
      }
    },
    async placeOf(call, key) {
      const wasApproved = approved.delete(markOf(call, key));
      const mustGuard = guarding.delete(markOf(call, key));
      const wasAllowed = allowed.delete(markOf(call, key));
      const mustHide = hiding.delete(markOf(call, key));
      const readable = await hiddenPaths(call);
      const policy = current();
      const others = elsewhere();
      const isDenied = (path: string) =>
        [policy, ...others.filter(({ root }) => isInside(root, path))].some(
          (one) => !one.mayReach(call.tool, { path, kind: 'read' }),
        );
      const isUnreadable = (path: string) => !policy.mayRead({ path, kind: 'read' });
      // Packages and files of the system are public, so only rules hide them.
      const isHiddenNew = (path: string) => {
        const isPublic = path.includes('/node_modules/') || !isInside(policy.root, path);
        return (isPublic ? isDenied : isUnreadable)(path);
      };
      if (readable !== undefined) return { place: 'closed', hide: readable, hideNew: isHiddenNew };
      if (wasAllowed && !isAllowedByRule(current(), call)) return { place: 'refused' };
      const { hide, pin, links, gap } = await findDenied(call.tool);
      if (mustHide && gap !== undefined) return { place: 'refused' };
      const guarded = mustGuard && {
        protect: protectedNames(current().root),
        protectNew: isProtectedName,
      };
      const getsEnv = wasApproved && !mustGuard;
      const rest = { place: 'profile', pin, links, getsEnv, ...guarded } as const;
      // The policy allowed the line because of the files that it names. A link could lead to another file now.
      const unreadable =
        wasApproved || mustGuard ? undefined : await unreadableBeside(policy, call);
      if (unreadable !== undefined)
        return { ...rest, hide: [...new Set([...hide, ...unreadable])], hideNew: isHiddenNew };
      const hideNew = policy.deniedPaths(call.tool).length === 0 ? undefined : isDenied;
      return { ...rest, hide, hideNew };
    },
  };
}

/**
 * Returns the files that a line must not read if the policy allows it only because it reads other files. Returns
 * undefined for other lines, and if there are too many files to hide. Git needs its folder, which is one of these
 * files, so a line with git can read them.
 */
async function unreadableBeside(
  policy: PermissionPolicy,
  call: PolicyCall,
): Promise<readonly string[] | undefined> {
  const line = commandOf(call);
  if (line === undefined || usesGit(line) || asksForMore(call) !== undefined) return undefined;
  const isAllow = ({ decision }: PermissionRule) => decision === 'allow';
  const allowing = [...policy.rules, ...policy.remembered].filter(isAllow);
  if (policy.decide(call).decision !== 'allow') return undefined;
  // A line that a rule allows can read each file. `cat .env` is an example with the rule `bash:cat`.
  const ofRules = permissionPolicy({
    ...policy,
    rules: allowing,
    remembered: [],
    freeReading: false,
  });
  if (ofRules.decide(call).decision === 'allow') return undefined;
  return (await findUnreadable(policy, mayReachPackages(line)))?.hidden;
}

/** True if a rule allows the call. The call may then run in the profile of the sandbox. */
function isAllowedByRule(policy: PermissionPolicy, call: PolicyCall): boolean {
  return asksForMore(call) === undefined && isAllowedWithoutReading(policy.decide(call));
}

function isAllowedWithoutReading({ decision, readOnlyCommands = [] }: PolicyDecision): boolean {
  return decision === 'allow' && readOnlyCommands.every(({ isByRule }) => isByRule);
}

/** True if a rule allows, asks about or denies the call or one of its commands. */
function isDecidedByRule(policy: PermissionPolicy, call: PolicyCall): boolean {
  const decided = policy.decide(call);
  if (decided.decision === 'deny' || isAllowedWithoutReading(decided)) return true;
  // Adds a first rule that allows all commands. If the decision is still not `allow`, a later rule asks or
  // denies. `hidesDenied` is true, because the closed sandbox hides all denied paths.
  const allowing = { tool: call.tool, decision: 'allow' } as const;
  const rules = [allowing, ...policy.rules];
  const lenient = permissionPolicy({ ...policy, rules, hidesDenied: true });
  return lenient.decide(call).decision !== 'allow';
}

/**
 * True if the line contains only paths that tools may read. It checks each word that could be a path,
 * including the value of an option such as `--file=x` or `-f/x`. A link must not lead out of the root.
 */
async function namesReadablePaths(policy: PermissionPolicy, line: string): Promise<boolean> {
  const { parts } = splitCommand(line);
  const words = parts.flatMap((part) => part.slice(1));
  // The shell would expand such words to different paths, for example `{/etc/passwd,x}` and `~/x`.
  if (words.some(({ text, isPlain }) => !isPlain && /[{}~]/.test(text))) return false;
  const paths = words.flatMap(({ text }) => pathsIn(text));
  if (!paths.every((path) => policy.mayRead({ path, kind: 'read' }))) return false;
  const folders = visitedFolders(policy.root, parts);
  if (folders === undefined) return false;
  for (const folder of folders)
    for (const path of paths) {
      // A path that cannot be resolved cannot be opened either, so this check accepts it.
      const real = await realPathOf(folder, path).catch(errorCodeOf);
      if (real === 'outside') return false;
      if (typeof real === 'string') continue;
      if (!lexicalPath(policy.root, real.real).isInside) return false;
      if (!policy.mayRead({ path: real.real, kind: 'read' })) return false;
    }
  return true;
}

/** Returns the paths that a word may contain. For example, `strings @x` reads words from the file x. */
function pathsIn(text: string): readonly string[] {
  if (!text.startsWith('-')) return [text, text.replace(/^@/, '')].filter((path) => path !== '');
  const values = [/=(.+)/s.exec(text)?.[1], /\/.+/s.exec(text)?.[0]];
  return values.filter((value) => value !== undefined);
}

/** Maximum number of folders in which the commands of a line may run. */
const maxVisited = 64;

/** Returns the folders in which the commands of the line may run. Returns undefined if they are unclear or too many. */
function visitedFolders(
  root: string,
  parts: readonly (readonly Word[])[],
): readonly string[] | undefined {
  let folders: readonly string[] = [root];
  for (const [program, target, ...more] of parts) {
    if (program?.text !== 'cd') continue;
    // An option such as `-P` is no folder, and without a folder, `cd` changes to the home folder.
    if (target === undefined || more.length > 0 || target.text.startsWith('-')) return undefined;
    folders = [...folders, ...folders.map((folder) => resolve(folder, target.text))];
    if (folders.length > maxVisited) return undefined;
  }
  return folders;
}

function usesGit(line: string): boolean {
  return splitCommand(line).parts.some(([program]) => program?.text === 'git');
}
