import type { Approval, ApprovalDecision, CheckedToolCall } from '@millrace/agent';
import type { SandboxProblem } from '../contract/sandbox.ts';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { commandOf, type PolicyCall } from '../permissions/decide.ts';
import { type PermissionPolicy, permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { changesGit } from '../permissions/read-only/read-only-line.ts';
import { splitCommand } from '../permissions/split-command.ts';
import { confinedRuleText, parseStandingRule } from '../permissions/standing-rule.ts';
import { compileGlob } from '../workspace/globs/compile-glob.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import {
  asksForMore,
  type MorePermission,
  mayChangeGit,
  sandboxRuleNames,
} from './more-permissions.ts';
import { type CallPlace, callKey, type UnaskedReading } from './unasked-reading.ts';

/** The tool that a sandbox confines. */
const confinedTool = 'bash';

type Approve = (call: CheckedToolCall, at: CallPlace) => Promise<ApprovalDecision>;

/**
 * Adds the sandbox to an `approve` function. A command that only reads needs no approval, because the sandbox
 * prevents it from changing or sending anything. A command can request the network, permission to change git
 * repositories, or to run outside of the sandbox. It then needs an approval, or a rule with a tool of
 * `sandboxRuleNames`. Use it only if `bashTool` has a sandbox.
 *
 * @example approveInSandbox(() => policy, approveByPolicy(policy, workspace), unaskedReading(() => policy));
 */
export function approveInSandbox(
  current: () => PermissionPolicy,
  approve: Approve,
  reading: UnaskedReading,
): Approve {
  const decide = async (pending: CheckedToolCall, at: CallPlace): Promise<ApprovalDecision> => {
    const call = callOf(pending);
    const ruling = await approve(pending, at);
    if (call.tool !== confinedTool) return ruling;
    if (decisionOf(ruling) === 'deny') return ruling;
    const more = asksForMore(call);
    const key = callKey(pending, at);
    // A standing approval of a git command is as wide as the one that the command would need without the sandbox.
    const isGit = more === 'git' && changesGit(commandOf(call) ?? '');
    const lasting = isGit && isWide(ruling) ? 'wide' : 'exact';
    const decideWith = async (policy: PermissionPolicy): Promise<ApprovalDecision> =>
      more === undefined
        ? confined(await approveByPolicy(policy, createWorkspace({ root: policy.root }))(pending))
        : decideOnLeaving(policy, pending, more, { why: leavingReasons[more], lasting });
    // A command outside of the sandbox sees denied paths. All other commands are in the sandbox.
    if (more === 'outside') return decideWith(unhidden(current()));
    const decided = more === undefined ? confined(ruling) : await decideWith(current());
    if (decisionOf(decided) === 'allow') {
      const gap = await reading.hideDenied(call, key);
      return gap === undefined ? decided : withGap(await decideWith(unhidden(current())), gap);
    }
    if (more !== undefined || !(await reading.allow(call, key))) return decided;
    return { decision: 'allow', reason: 'It only reads, and the sandbox confines it to reading' };
  };
  return async (pending, at) => {
    const call = callOf(pending);
    const ruling = whileOthersRun(current(), call, await decide(pending, at), reading);
    const isConfined = call.tool === confinedTool && asksForMore(call) !== 'outside';
    if (isConfined && isMeant(current(), call, ruling, at))
      reading.giveEnv(call, callKey(pending, at));
    return ruling;
  };
}

/**
 * A prefix rule for git does not allow a command while another command can change the repositories that git uses. The
 * policy has judged them in their current state.
 */
function whileOthersRun(
  policy: PermissionPolicy,
  call: PolicyCall,
  ruling: ApprovalDecision,
  { isChanging = () => false }: UnaskedReading,
): ApprovalDecision {
  const more = call.tool === confinedTool ? asksForMore(call) : undefined;
  const isGit = mayChangeGit(more) || (more === 'outside' && changesGit(commandOf(call) ?? ''));
  if (!isGit || decisionOf(ruling) !== 'allow' || !isChanging()) return ruling;
  if (isAllowedOnPurpose(permissionPolicy({ ...policy, freeReading: false }), call)) return ruling;
  return { decision: 'ask', reason: `Another command is running. ${changedByOthers}` };
}

const changedByOthers =
  'It can change the repositories that git uses, so a rule for git does not allow this command now';

function callOf({ call, input }: CheckedToolCall): PolicyCall {
  return { tool: call.name, input };
}

/**
 * True if a person or a rule allows exactly this line, or a rule allows all commands. The program of any other
 * line can be a script of the repository, which could print the variables that the user adds to the environment.
 */
function isMeant(
  policy: PermissionPolicy,
  call: PolicyCall,
  ruling: ApprovalDecision,
  { isAnswered }: CallPlace,
): boolean {
  if (isAnswered) return true;
  switch (decisionOf(ruling)) {
    case 'allow':
      return isAllowedOnPurpose(permissionPolicy({ ...policy, freeReading: false }), call);
    case 'ask': {
      // A person may have approved the rule of the question for the session.
      const rule = typeof ruling === 'string' ? undefined : ruling.rule;
      return rule !== undefined && parseStandingRule(rule)?.rule.exact === true;
    }
    case 'deny':
      return false;
  }
}

/** True if a command is also allowed without rules for a prefix, and without broad approvals. */
export function isAllowedOnPurpose(policy: PermissionPolicy, call: PolicyCall): boolean {
  const more = asksForMore(call);
  const tool = more === undefined ? call.tool : sandboxRuleNames[more];
  const isKept = ({ decision, command, exact, yields }: PermissionRule) =>
    decision !== 'allow' || exact === true || (command === undefined && yields !== true);
  const kept = (rules: readonly PermissionRule[]) => {
    const all = rules.filter(isKept);
    return more === undefined ? all : rulesFor(more, all);
  };
  const strict = permissionPolicy({
    ...policy,
    rules: kept(policy.rules),
    remembered: kept(policy.remembered),
    kinds: { ...policy.kinds, [tool]: 'run' },
  });
  const command = commandOf(call);
  return strict.decide({ tool, input: { command } }).decision === 'allow';
}

function isWide(ruling: ApprovalDecision): boolean {
  const rule = typeof ruling === 'string' ? undefined : ruling.rule;
  return rule !== undefined && parseStandingRule(rule)?.rule.exact !== true;
}

function decisionOf(ruling: ApprovalDecision): Approval {
  return typeof ruling === 'string' ? ruling : ruling.decision;
}

/** Returns a policy for a command that may see denied paths. */
function unhidden(policy: PermissionPolicy): PermissionPolicy {
  return permissionPolicy({ ...policy, hidesDenied: false });
}

function withGap(ruling: ApprovalDecision, gap: string): ApprovalDecision {
  if (typeof ruling === 'string' || ruling.decision !== 'ask') return ruling;
  const { reason = 'A rule denies a path' } = ruling;
  return { ...ruling, reason: `${reason}. The sandbox cannot hide it: ${gap}` };
}

/**
 * Returns the decision with a rule that applies only inside the sandbox. A standing approval for commands in
 * the sandbox must not cover commands outside of it.
 */
function confined(ruling: ApprovalDecision): ApprovalDecision {
  if (typeof ruling === 'string' || ruling.rule === undefined) return ruling;
  return { ...ruling, rule: confinedRuleText(ruling.rule) };
}

/**
 * Wraps an `approve` function for a system without a sandbox. Each question about a command tells the user
 * that no sandbox confines it.
 *
 * If the system has a sandbox that cannot run (`failed`), rules for `bash` do not allow a command. The user
 * made these rules for confined commands. The command then needs an approval, or a rule with the tool
 * `bash+outside`. Decisions about commands that only read do not change.
 *
 * @example const found = await findSandbox();
 * if (!found.sandbox) approveUnconfined(() => policy, approveByPolicy(policy, workspace), found);
 */
export function approveUnconfined(
  current: () => PermissionPolicy,
  approve: Approve,
  { problem, reason: why }: { readonly problem: SandboxProblem; readonly reason: string },
): Approve {
  return async (pending, at) => {
    const ruling = await approve(pending, at);
    if (pending.call.name !== confinedTool) return ruling;
    const { decision, reason, ...rest } =
      typeof ruling === 'string' ? { decision: ruling, reason: undefined } : ruling;
    if (decision === 'deny') return ruling;
    if (problem === 'failed') {
      if (decision === 'allow' && (await isFreeReading(current(), pending))) return ruling;
      return decideOnLeaving(current(), pending, 'outside', {
        why: `The sandbox cannot run (${why}), so the command has all rights of your user`,
      });
    }
    if (decision === 'allow') return ruling;
    const unconfined = `Nothing confines commands here (${why})`;
    return {
      ...rest,
      decision,
      reason: reason === undefined ? unconfined : `${reason}. ${unconfined}`,
    };
  };
}

/** True if the policy allows a command without any `allow` rule, because the command only reads. */
async function isFreeReading(policy: PermissionPolicy, pending: CheckedToolCall): Promise<boolean> {
  const isStrict = ({ decision }: PermissionRule) => decision !== 'allow';
  const strict = permissionPolicy({
    ...policy,
    rules: policy.rules.filter(isStrict),
    remembered: policy.remembered.filter(isStrict),
  });
  const ruling = await approveByPolicy(strict, createWorkspace({ root: policy.root }))(pending);
  return (typeof ruling === 'string' ? ruling : ruling.decision) === 'allow';
}

const gitEffect = 'Git can later run programs that the command stores in the repository';

const leavingReasons = {
  network: 'It runs with network, which the sandbox does not give',
  outside: 'It runs outside the sandbox, with all rights of your user',
  git: `It needs your permission to change git. ${gitEffect}`,
  'network+git': `It runs with network, and needs your permission to change git. ${gitEffect}`,
} as const;

/**
 * Returns the rules that decide about commands with additional permissions. A rule for `bash` or `bash+network` that
 * names a git command also allows this command to change the repository. So does a rule that allows all calls of all
 * tools, as `--yes` does.
 */
function rulesFor(more: MorePermission, rules: readonly PermissionRule[]): PermissionRule[] {
  const tool = sandboxRuleNames[more];
  const without = more === 'network+git' ? sandboxRuleNames.network : confinedTool;
  return rules.flatMap((rule) => {
    if (rule.decision === 'allow') {
      const isForGit = mayChangeGit(more) && rule.tool === without && namesGit(rule);
      const allows = rule.tool === tool || isForGit || (more === 'git' && isForAll(rule));
      return allows ? [{ ...rule, tool }] : [];
    }
    // A rule that asks about commands, or denies them, is also about commands with more permissions.
    const matches = compileGlob(rule.tool ?? '*');
    return [confinedTool, ...namesIn(more)].some(matches) ? [rule, { ...rule, tool }] : [rule];
  });
}

/** Returns the names of all permissions that a command has. Outside of the sandbox, it has all of them. */
function namesIn(more: MorePermission): readonly string[] {
  const { network, git } = sandboxRuleNames;
  return more === 'outside' || more === 'network+git' ? [network, git] : [];
}

function isForAll({ tool, command, path, host }: PermissionRule): boolean {
  return [tool, command, path, host].every((field) => field === undefined);
}

/** True if a rule is for one line that changes git, or for all lines that start with a command of git. */
function namesGit({ command = '', exact = false }: PermissionRule): boolean {
  return exact ? changesGit(command) : /^\s*git(?:\s|$)/.test(command);
}

/**
 * Decides on a command that leaves the sandbox. Only a rule for this permission can allow it. For a prefix
 * rule, the repository, the paths and the program are checked in the same way as inside the sandbox.
 */
async function decideOnLeaving(
  policy: PermissionPolicy,
  pending: CheckedToolCall,
  more: MorePermission,
  { why, lasting }: { readonly why: string; readonly lasting?: 'exact' | 'wide' },
): Promise<ApprovalDecision> {
  const tool = sandboxRuleNames[more];
  const strict = permissionPolicy({
    ...policy,
    rules: rulesFor(more, policy.rules),
    remembered: rulesFor(more, policy.remembered),
    kinds: { ...policy.kinds, [tool]: 'run' },
    freeReading: false,
  });
  const command = commandOf({ tool, input: pending.input });
  const call = { ...pending.call, name: tool };
  const leaving = { ...pending, name: tool, call, input: { command } };
  const workspace = createWorkspace({ root: policy.root });
  const ruling = await approveByPolicy(strict, workspace, { lasting })(leaving);
  if (typeof ruling === 'string' || ruling.decision !== 'ask') return ruling;
  const isRisk = strict.decide({ tool, input: { command } }).decision === 'allow';
  if (isRisk) return { ...ruling, reason: `${why}. ${ruling.reason}` };
  return { ...ruling, reason: `${why}${commandsWithoutRule(policy, command)}` };
}

/** Names the commands of a line that also need an approval inside the sandbox. A line of one command is named by its call. */
function commandsWithoutRule(policy: PermissionPolicy, command = ''): string {
  const { parts, unsupportedSyntax } = splitCommand(command);
  if (parts.length === 1 && unsupportedSyntax === undefined) return '';
  const { decision, reason } = policy.decide({ tool: confinedTool, input: { command } });
  return decision === 'ask' ? `. ${reason}` : '';
}
