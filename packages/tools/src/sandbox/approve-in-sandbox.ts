import type { Approval, ApprovalDecision, CheckedToolCall } from '@millrace/agent';
import type { SandboxProblem } from '../contract/sandbox.ts';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { commandOf, type PolicyCall } from '../permissions/decide.ts';
import { type PermissionPolicy, permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { confinedRuleText, parseStandingRule } from '../permissions/standing-rule.ts';
import { compileGlob } from '../workspace/globs/compile-glob.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { asksForMore, type CallPlace, callKey, type UnaskedReading } from './unasked-reading.ts';

/** The tool that a sandbox confines. */
const confinedTool = 'bash';

/**
 * The tool names in rules for commands that leave the sandbox. No real tool can have these names, and rules
 * for `bash` or for all tools do not apply to them.
 */
export const sandboxRuleNames = { network: 'bash+network', outside: 'bash+outside' } as const;

type Approve = (call: CheckedToolCall, at: CallPlace) => Promise<ApprovalDecision>;

/**
 * Adds the sandbox to an `approve` function. A command that only reads needs no approval, because the sandbox
 * prevents it from changing or sending anything. A command can request the network, or request to run outside
 * of the sandbox. It then needs an approval, or a rule with the tool `bash+network` or `bash+outside`. Use it
 * only if `bashTool` has a sandbox.
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
    const decideWith = async (policy: PermissionPolicy): Promise<ApprovalDecision> =>
      more === undefined
        ? confined(await approveByPolicy(policy, createWorkspace({ root: policy.root }))(pending))
        : decideOnLeaving(policy, pending, more, leavingReasons[more]);
    // A command outside of the sandbox sees denied paths. A command with network is still in the sandbox.
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
    const ruling = await decide(pending, at);
    const call = callOf(pending);
    const isConfined = call.tool === confinedTool && asksForMore(call) !== 'outside';
    if (isConfined && isMeant(current(), call, ruling, at))
      reading.giveEnv(call, callKey(pending, at));
    return ruling;
  };
}

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
  const strict = permissionPolicy({
    ...policy,
    rules: policy.rules.filter(isKept),
    remembered: policy.remembered.filter(isKept),
    kinds: { ...policy.kinds, [tool]: 'run' },
  });
  const command = commandOf(call);
  return strict.decide({ tool, input: { command } }).decision === 'allow';
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
      return decideOnLeaving(
        current(),
        pending,
        'outside',
        `The sandbox cannot run (${why}), so the command has all rights of your user`,
      );
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

const leavingReasons = {
  network: 'It runs with network, which the sandbox does not give',
  outside: 'It runs outside the sandbox, with all rights of your user',
} as const;

/**
 * Decides on a command that leaves the sandbox. Only a rule for this permission can allow it. For a prefix
 * rule, the repository, the paths and the program are checked in the same way as inside the sandbox.
 */
async function decideOnLeaving(
  policy: PermissionPolicy,
  pending: CheckedToolCall,
  more: keyof typeof sandboxRuleNames,
  why: string,
): Promise<ApprovalDecision> {
  const tool = sandboxRuleNames[more];
  const leavingRules = (rules: readonly PermissionRule[]) =>
    rules.flatMap((rule) => {
      if (rule.decision === 'allow') return rule.tool === tool ? [rule] : [];
      // A rule that asks about commands, or denies them, is also about commands that leave the sandbox.
      return compileGlob(rule.tool ?? '*')(confinedTool) ? [rule, { ...rule, tool }] : [rule];
    });
  const strict = permissionPolicy({
    ...policy,
    rules: leavingRules(policy.rules),
    remembered: leavingRules(policy.remembered),
    kinds: { ...policy.kinds, [tool]: 'run' },
    freeReading: false,
  });
  const command = commandOf({ tool, input: pending.input });
  const call = { ...pending.call, name: tool };
  const leaving = { ...pending, name: tool, call, input: { command } };
  const ruling = await approveByPolicy(strict, createWorkspace({ root: policy.root }))(leaving);
  if (typeof ruling === 'string' || ruling.decision !== 'ask') return ruling;
  const isRisk = strict.decide({ tool, input: { command } }).decision === 'allow';
  return { ...ruling, reason: isRisk ? `${why}. ${ruling.reason}` : why };
}
