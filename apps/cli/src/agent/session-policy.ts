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
  readonly saveRule: (rule: PermissionRule) => Promise<void>;
  /** Keeps it no more. */
  readonly deleteRule: (rule: PermissionRule) => Promise<void>;
}

export function createSessionPolicy(options: SessionPolicyOptions): SessionPolicy {
  const { workspace, rules, saveRule, deleteRule } = options;
  let policy = permissionPolicy({
    root: workspace.root,
    rules,
    // What they do is decided on call by call, or is to read what is there already.
    kinds: { task: 'free', read_output: 'free' },
    searchesSkipDenied: true,
    freeReading: true,
  });
  let lastWrite: Promise<void> = Promise.resolve();
  return {
    current: () => policy,
    remember: async (rule, forHowLong) => {
      policy = policy.remember(rule);
      if (forHowLong === 'session') return;
      // One after the other: each reads the file that the one before has written.
      const keeping = lastWrite.then(() => saveRule(rule));
      lastWrite = keeping.catch(() => {});
      await keeping;
    },
    forget: async (rule) => {
      const without = (all: readonly PermissionRule[]) =>
        all.filter((one) => !isSameRule(one, rule));
      const { rules: known, remembered } = policy;
      policy = permissionPolicy({
        ...policy,
        rules: without(known),
        remembered: without(remembered),
      });
      const dropping = lastWrite.then(() => deleteRule(rule));
      lastWrite = dropping.catch(() => {});
      await dropping;
    },
    approve: (call) => approveBy(policy, workspace, { lasting: 'wide' })(call),
  };
}

function isSameRule(one: PermissionRule, other: PermissionRule): boolean {
  return one.decision === other.decision && ruleToText(one) === ruleToText(other);
}

/** Where nobody can be asked, what would be asked about is denied, and the model is told why. */
export function denyInsteadOfAsking(
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
