import type { ApprovalDecision, PendingCall } from '@millrace/agent';
import {
  approveBy,
  type PermissionPolicy,
  type PermissionRule,
  permissionPolicy,
  type Workspace,
} from '@millrace/tools';
import { ruleToText } from '../config/rule-text.ts';

/** A policy that grows while it is used. */
export interface SessionPolicy {
  current(): PermissionPolicy;
  remember(rule: PermissionRule, forHowLong: 'session' | 'always'): Promise<void>;
  /** Such calls are asked about again, here and in later sessions. */
  forget(rule: PermissionRule): Promise<void>;
  /** May a call run, by the rules as they are now? */
  approve(call: PendingCall): Promise<ApprovalDecision>;
}

interface SessionPolicyOptions {
  readonly workspace: Workspace;
  readonly rules: readonly PermissionRule[];
  /** Keeps a rule for later sessions. */
  readonly keep: (rule: PermissionRule) => Promise<void>;
  /** Keeps it no more. */
  readonly drop: (rule: PermissionRule) => Promise<void>;
}

export function sessionPolicy(options: SessionPolicyOptions): SessionPolicy {
  const { workspace, rules, keep, drop } = options;
  let policy = permissionPolicy({
    root: workspace.root,
    rules,
    // What they do is decided on call by call, or is to read what is there already.
    kinds: { task: 'free', read_output: 'free' },
    searchesSkipDenied: true,
    freeReading: true,
  });
  let kept: Promise<void> = Promise.resolve();
  return {
    current: () => policy,
    remember: async (rule, forHowLong) => {
      policy = policy.remember(rule);
      if (forHowLong === 'session') return;
      // One after the other: each reads the file that the one before has written.
      const keeping = kept.then(() => keep(rule));
      kept = keeping.catch(() => {});
      await keeping;
    },
    forget: async (rule) => {
      const without = (all: readonly PermissionRule[]) => all.filter((one) => !isSame(one, rule));
      const { rules: known, remembered } = policy;
      policy = permissionPolicy({
        ...policy,
        rules: without(known),
        remembered: without(remembered),
      });
      const dropping = kept.then(() => drop(rule));
      kept = dropping.catch(() => {});
      await dropping;
    },
    approve: (call) => approveBy(policy, workspace, { lasting: 'wide' })(call),
  };
}

function isSame(one: PermissionRule, other: PermissionRule): boolean {
  return one.decision === other.decision && ruleToText(one) === ruleToText(other);
}

/** Where nobody can be asked, what would be asked about is denied, and the model is told why. */
export function orDeny(
  approve: SessionPolicy['approve'],
): (call: PendingCall) => Promise<ApprovalDecision> {
  return async (call) => {
    const ruling = await approve(call);
    const { decision, reason } =
      typeof ruling === 'string' ? { decision: ruling, reason: undefined } : ruling;
    if (decision !== 'ask') return ruling;
    const why = reason === undefined ? '' : `${reason}, and `;
    return { decision: 'deny', reason: `${why}there is nobody who could be asked` };
  };
}
