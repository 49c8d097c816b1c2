import type { ApprovalDecision, PendingCall } from '@millrace/agent';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { commandOf } from '../permissions/decide.ts';
import { type PermissionPolicy, permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { confinedRuleText } from '../permissions/standing-rule.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { asksForMore, type UnaskedReading } from './unasked-reading.ts';

/** The tool that a sandbox confines. */
const confinedTool = 'bash';

/**
 * Names for rules on commands that leave the sandbox. No tool can have such a name, and no rule for
 * `bash` or for all tools covers them.
 */
export const sandboxRuleNames = { network: 'bash+network', outside: 'bash+outside' } as const;

type Approve = (call: PendingCall) => Promise<ApprovalDecision>;

/**
 * Adds the sandbox to an `approve` function. A command that only reads needs no approval, because
 * the sandbox lets it change and send nothing. A command that asks for the network or to run outside
 * of the sandbox always needs approval, unless a rule with the tool `bash+network` or `bash+outside`
 * allows it. Use it only if `bashTool` has a sandbox.
 *
 * @example approveInSandbox(() => policy, approveByPolicy(policy, workspace), unaskedReading(() => policy));
 */
export function approveInSandbox(
  current: () => PermissionPolicy,
  approve: Approve,
  reading: UnaskedReading,
): Approve {
  return async (pending) => {
    const call = { tool: pending.call.name, input: pending.input };
    const ruling = await approve(pending);
    if (call.tool !== confinedTool) return ruling;
    const decision = typeof ruling === 'string' ? ruling : ruling.decision;
    if (decision === 'deny') return ruling;
    const more = asksForMore(call);
    if (more !== undefined) return decideOnLeaving(current(), pending, more);
    if (decision === 'allow' || !(await reading.allow(call, pending.call.toolCallId)))
      return confined(ruling);
    return { decision: 'allow', reason: 'It only reads, and the sandbox confines it to reading' };
  };
}

/** An approval that lasts, given for commands in the sandbox, does not cover them outside. */
function confined(ruling: ApprovalDecision): ApprovalDecision {
  if (typeof ruling === 'string' || ruling.rule === undefined) return ruling;
  return { ...ruling, rule: confinedRuleText(ruling.rule) };
}

const leavingReasons = {
  network: 'It runs with network, which the sandbox does not give',
  outside: 'It runs outside the sandbox, with all rights of your user',
} as const;

/**
 * Only a rule that names the permission to leave the sandbox can allow it. A rule with a prefix has
 * the same checks as inside the sandbox: of the repository, of paths and of the program.
 */
async function decideOnLeaving(
  policy: PermissionPolicy,
  pending: PendingCall,
  more: keyof typeof sandboxRuleNames,
): Promise<ApprovalDecision> {
  const tool = sandboxRuleNames[more];
  const counts = (rule: PermissionRule) => rule.decision !== 'allow' || rule.tool === tool;
  const strict = permissionPolicy({
    ...policy,
    rules: policy.rules.filter(counts),
    remembered: policy.remembered.filter(counts),
    kinds: { ...policy.kinds, [tool]: 'run' },
    freeReading: false,
  });
  const command = commandOf({ tool, input: pending.input });
  const leaving = { ...pending, call: { ...pending.call, name: tool }, input: { command } };
  const ruling = await approveByPolicy(strict, createWorkspace({ root: policy.root }))(leaving);
  if (typeof ruling === 'string' || ruling.decision !== 'ask') return ruling;
  const isRisk = strict.decide({ tool, input: { command } }).decision === 'allow';
  const reason = isRisk ? `${leavingReasons[more]}. ${ruling.reason}` : leavingReasons[more];
  return { ...ruling, reason };
}
