import type { ApprovalDecision, PendingCall } from '@millrace/agent';
import type { Workspace } from '../workspace/workspace.ts';
import { type PolicyCall, pathOf } from './decide.ts';
import type { PermissionPolicy } from './permission-policy.ts';
import type { ReadOnlyCommand } from './read-only/read-only-command.ts';
import { findReadOnlyRisk } from './read-only/read-only-risk.ts';
import { suggestRule } from './suggest-rule.ts';

export interface ApproveByOptions {
  /**
   * What an answer that lasts is about: the very command or path, or where that is sensible (`wide`) all
   * commands that begin so, and all changes of files in the root.
   */
  readonly lasting?: 'exact' | 'wide' | undefined;
}

/**
 * Has a policy decide on the calls of an agent. Where a path leads by links is decided on too. An answer
 * that lasts (`run.approve(id, { until })`) is about that command, path or tool and no other, unless told.
 *
 * @example
 * createAgent({ provider, tools, approve: approveBy(policy, workspace) });
 */
export function approveBy(
  policy: PermissionPolicy,
  workspace: Pick<Workspace, 'root' | 'resolve'>,
  { lasting = 'exact' }: ApproveByOptions = {},
): (call: PendingCall) => Promise<ApprovalDecision> {
  return async ({ call: { name: tool }, input }) => {
    const leadsTo = await realPathOf({ tool, input }, workspace);
    const call = { tool, input, leadsTo };
    const { decision, reason, readings = [] } = policy.decide(call);
    const risk = await firstRisk(readings, policy, workspace);
    if (risk !== undefined) return { decision: 'ask', reason: risk, rule: exactRule(policy, call) };
    if (decision !== 'ask') return { decision, reason };
    const rule = lasting === 'wide' ? suggestedRule(policy, call) : exactRule(policy, call);
    return { decision, reason, rule };
  };
}

async function firstRisk(
  readings: readonly ReadOnlyCommand[],
  { mayRead }: PermissionPolicy,
  workspace: Pick<Workspace, 'root' | 'resolve'>,
): Promise<string | undefined> {
  for (const command of readings) {
    const risk = await findReadOnlyRisk(command, { workspace, mayRead });
    if (risk !== undefined) return risk;
  }
  return undefined;
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
function exactRule(policy: PermissionPolicy, call: PolicyCall): string | undefined {
  try {
    return JSON.stringify(policy.ruleFor(call, 'allow'));
  } catch {
    return undefined;
  }
}

function suggestedRule(policy: PermissionPolicy, call: PolicyCall): string | undefined {
  try {
    const rule = suggestRule(policy, call);
    return rule === undefined ? exactRule(policy, call) : JSON.stringify(rule);
  } catch {
    // No more can be remembered.
    return undefined;
  }
}
