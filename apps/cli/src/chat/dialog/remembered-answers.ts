import type { PermissionPolicy, PermissionRule } from '@millrace/tools';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import type { Conversation } from '../session/conversation.ts';
import { alwaysRule, ruleOf } from './approval-choices.ts';

interface LastingAnswersOptions {
  readonly built: () => BuiltAgent;
  readonly conversation: () => Pick<Conversation, 'approve' | 'approvals'>;
}

/** Answers that are about more than one call. */
export class LastingAnswers {
  readonly #options: LastingAnswersOptions;

  constructor(options: LastingAnswersOptions) {
    this.#options = options;
  }

  readonly forSession = async (approval: PendingApproval): Promise<void> => {
    const { built, conversation } = this.#options;
    const rule = approval.rule === undefined ? undefined : ruleOf(approval.rule);
    await conversation().approve(approval, { forSession: true });
    if (rule === undefined) return;
    // Sub-agents have sessions of their own.
    await built().remember(rule, 'session');
    await this.#approveLike(approval);
  };

  /** The call runs, also where the rule cannot be kept: that is told. */
  readonly always = async (approval: PendingApproval): Promise<void> => {
    const { built, conversation } = this.#options;
    const rule = approval.rule === undefined ? undefined : ruleOf(approval.rule);
    const always = rule && keptRule(built().policy(), rule, approval);
    await conversation().approve(approval, { forSession: always === rule });
    if (always === undefined) return;
    const kept = built().remember(always, 'always');
    // It holds here whether or not it can be kept.
    await Promise.all([this.#approveLike(approval), kept]);
  };

  /** What else waits, and needs no asking any more. */
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

/** What “always” is about, as the policy says it. */
function keptRule(
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
