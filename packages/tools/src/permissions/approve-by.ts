import type { ApprovalDecision, PendingCall } from '@millrace/agent';
import type { Workspace } from '../workspace/workspace.ts';
import { type PolicyCall, pathOf } from './decide.ts';
import type { PermissionPolicy } from './permission-policy.ts';

/**
 * Has a policy decide on the calls of an agent. Where a path leads by links is decided on too. An answer
 * that lasts (`run.approve(id, { until })`) is about that command, path or tool and no other.
 *
 * @example
 * createAgent({ provider, tools, approve: approveBy(policy, workspace) });
 */
export function approveBy(
  policy: PermissionPolicy,
  workspace: Pick<Workspace, 'resolve'>,
): (call: PendingCall) => Promise<ApprovalDecision> {
  return async ({ call: { name: tool }, input }) => {
    const leadsTo = await realPathOf({ tool, input }, workspace);
    const call = { tool, input, leadsTo };
    const { decision, reason } = policy.decide(call);
    if (decision !== 'ask') return { decision, reason };
    return { decision, reason, rule: ruleFor(policy, call) };
  };
}

/** Nothing where it leads outside, or is no path: then the tool itself refuses it. */
async function realPathOf(
  call: PolicyCall,
  workspace: Pick<Workspace, 'resolve'>,
): Promise<string | undefined> {
  const path = pathOf(call);
  if (path === undefined) return undefined;
  return workspace.resolve(path).then(
    ({ real }) => real,
    () => undefined,
  );
}

/** Of what is unclear nothing can be said that lasts. */
function ruleFor(policy: PermissionPolicy, call: PolicyCall): string | undefined {
  try {
    return JSON.stringify(policy.ruleFor(call, 'allow'));
  } catch {
    return undefined;
  }
}
