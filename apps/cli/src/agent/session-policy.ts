import type { ApprovalDecision, CheckedToolCall } from '@millrace/agent';
import {
  approveByPolicy,
  approveInSandbox,
  approveUnconfined,
  type PermissionPolicy,
  type PermissionRule,
  permissionPolicy,
  type UnaskedReading,
  unaskedReading,
  type Workspace,
} from '@millrace/tools';
import { ruleToText } from '../config/rule-text.ts';
import type { Unconfined } from './command-sandbox.ts';

/** A permission policy to which rules can be added while the agent runs. */
export interface SessionPolicy {
  current(): PermissionPolicy;
  remember(rule: PermissionRule, forHowLong: 'session' | 'always'): Promise<void>;
  /** Removes the rule. Matching calls need approval again, in this and in later sessions. */
  forget(rule: PermissionRule): Promise<void>;
  /** Decides which commands run without approval in the sandbox. Undefined without a sandbox. */
  readonly reading: UnaskedReading | undefined;
  /** Decides on a call with the current rules. */
  approve(call: CheckedToolCall): Promise<ApprovalDecision>;
}

interface SessionPolicyOptions {
  readonly workspace: Workspace;
  readonly rules: readonly PermissionRule[];
  /** Whether a sandbox confines commands. */
  readonly isConfined: boolean;
  /** Why no sandbox confines commands. Undefined if the user switched the sandbox off. */
  readonly unconfined?: Unconfined | undefined;
  /** Stores a rule for later sessions. */
  readonly saveRule: (rule: PermissionRule) => Promise<void>;
  /** Deletes a stored rule. */
  readonly deleteRule: (rule: PermissionRule) => Promise<void>;
}

export function createSessionPolicy(options: SessionPolicyOptions): SessionPolicy {
  const { workspace, rules, isConfined, unconfined, saveRule, deleteRule } = options;
  let policy = permissionPolicy({
    root: workspace.root,
    rules,
    // `task` needs no approval, because each call of a sub-agent is checked by itself.
    // `read_output` needs none, because it only reads existing output.
    kinds: { task: 'free', read_output: 'free' },
    searchesSkipDenied: true,
    freeReading: true,
  });
  let lastWrite: Promise<void> = Promise.resolve();
  const current = () => policy;
  const reading = isConfined ? unaskedReading(current) : undefined;
  const byPolicy: SessionPolicy['approve'] = (call) =>
    approveByPolicy(policy, workspace, { lasting: 'wide' })(call);
  const approve = unconfined ? approveUnconfined(current, byPolicy, unconfined) : byPolicy;
  return {
    current,
    reading,
    remember: async (rule, forHowLong) => {
      policy = policy.remember(rule);
      if (forHowLong === 'session') return;
      // Writes run one after the other, because each one reads the file that the previous one
      // wrote.
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
    approve: reading === undefined ? approve : approveInSandbox(current, approve, reading),
  };
}

function isSameRule(one: PermissionRule, other: PermissionRule): boolean {
  return one.decision === other.decision && ruleToText(one) === ruleToText(other);
}
