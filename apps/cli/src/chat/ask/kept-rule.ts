import type { PermissionPolicy, PermissionRule } from '@millrace/tools';
import type { PendingApproval } from '../state/pending.ts';
import { alwaysRule } from './approval-choices.ts';

/** What “always” is about, as the policy says it. */
export function keptRule(
  policy: PermissionPolicy,
  rule: PermissionRule,
  approval: PendingApproval,
): PermissionRule | undefined {
  const { name: tool, input } = approval;
  const always = alwaysRule(rule, approval);
  // Whichever way the path was written.
  return always === rule || always === undefined
    ? always
    : policy.ruleFor({ tool, input }, 'allow');
}
