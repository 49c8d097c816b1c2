import type { PermissionPolicy, PermissionRule } from '@millrace/tools';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import type { Conversation } from '../session/conversation.ts';
import { alwaysRule, parseRule } from './approval-choices.ts';

interface RememberedAnswersOptions {
  readonly built: () => BuiltAgent;
  readonly conversation: () => Pick<Conversation, 'approve' | 'approvals'>;
}

/** Submits answers that apply to more than one call. */
export class RememberedAnswers {
  readonly #options: RememberedAnswersOptions;

  constructor(options: RememberedAnswersOptions) {
    this.#options = options;
  }

  readonly approveForSession = async (approval: PendingApproval): Promise<void> => {
    const { built, conversation } = this.#options;
    const rule = approval.rule === undefined ? undefined : parseRule(approval.rule);
    await conversation().approve(approval, { forSession: true });
    if (rule === undefined) return;
    // The rule must also apply to sub-agents, which have their own sessions.
    await built().remember(rule, 'session');
    await this.#approveLike(approval);
  };

  /** Approves the call even if the rule cannot be saved. That error is thrown afterwards. */
  readonly approveAlways = async (approval: PendingApproval): Promise<void> => {
    const { built, conversation } = this.#options;
    const rule = approval.rule === undefined ? undefined : parseRule(approval.rule);
    const always = rule && ruleToKeep(built().policy(), rule, approval);
    await conversation().approve(approval, { forSession: always === rule });
    if (always === undefined) return;
    const kept = built().remember(always, 'always');
    // The rule applies in this process even if it cannot be saved.
    await Promise.all([this.#approveLike(approval), kept]);
  };

  /** Approves other waiting calls that the new rule allows. */
  async #approveLike(answered: PendingApproval): Promise<void> {
    const { built, conversation } = this.#options;
    for (const approval of conversation().approvals) {
      if (approval.id === answered.id && approval.session === answered.session) continue;
      const { id, name, input = null } = approval;
      const call = { kind: 'tool_call', toolCallId: id, name, input } as const;
      const isAllowed = await built().allows({ ...call, arguments: JSON.stringify(input) });
      if (isAllowed) await conversation().approve(approval);
    }
  }
}

/** The permanent rule for an approval, in the form that the policy uses. */
function ruleToKeep(
  policy: PermissionPolicy,
  rule: PermissionRule,
  approval: PendingApproval,
): PermissionRule | undefined {
  const { name: tool, input } = approval;
  const always = alwaysRule(rule, approval);
  // The policy normalises the path.
  return always === rule || always === undefined
    ? always
    : policy.ruleFor({ tool, input }, 'allow');
}
