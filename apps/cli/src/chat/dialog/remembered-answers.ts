import { type PermissionPolicy, type PermissionRule, parseStandingRule } from '@millrace/tools';
import { ruleFromText, ruleToText } from '../../config/rule-text.ts';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import type { Conversation } from '../session/conversation.ts';
import { alwaysRule, parseRule } from './approval-choices.ts';

interface RememberedAnswersOptions {
  readonly built: () => BuiltAgent;
  readonly conversation: () => Pick<Conversation, 'approve' | 'approvals' | 'otherFolder'>;
}

/** Submits answers that apply to more than one call. */
export class RememberedAnswers {
  readonly #options: RememberedAnswersOptions;
  readonly #ruleCache = new WeakMap<
    PendingApproval,
    { readonly rule: PermissionRule | undefined }
  >();

  constructor(options: RememberedAnswersOptions) {
    this.#options = options;
  }

  readonly approveForSession = async (approval: PendingApproval): Promise<void> => {
    const { built, conversation } = this.#options;
    const rule = approval.rule === undefined ? undefined : parseRule(approval.rule);
    await conversation().approve(approval, { forSession: isForLog(approval) });
    if (rule === undefined || !this.#isHere(approval)) return;
    // The rule must also apply to sub-agents, whose rules on the log are separate.
    await built().remember(rule, 'session');
    await this.#approveLike(approval);
  };

  /** Returns the rule that a permanent answer saves. Undefined if there is none. */
  readonly ruleToSave = (approval: PendingApproval): PermissionRule | undefined => {
    if (!this.#isHere(approval)) return undefined;
    const known = this.#ruleCache.get(approval);
    if (known !== undefined) return known.rule;
    const asked = approval.rule === undefined ? undefined : parseRule(approval.rule);
    const kept = asked && ruleToKeep(this.#options.built().policy(), asked, approval);
    const rule = kept !== undefined && isKeptByText(kept) ? kept : undefined;
    this.#ruleCache.set(approval, { rule });
    return rule;
  };

  /**
   * Approves the call, and saves the rule that the user saw. The call is approved even if the rule
   * cannot be saved. That error is thrown afterwards.
   */
  readonly approveAlways = async (
    approval: PendingApproval,
    rule: PermissionRule,
  ): Promise<void> => {
    const { built, conversation } = this.#options;
    const asked = approval.rule === undefined ? undefined : parseRule(approval.rule);
    const isSame = asked !== undefined && ruleToText(asked) === ruleToText(rule);
    await conversation().approve(approval, { forSession: isSame && isForLog(approval) });
    const kept = built().remember(rule, 'always');
    // The rule applies in this process even if it cannot be saved.
    await Promise.all([this.#approveLike(approval), kept]);
  };

  /**
   * Whether the call runs in the folder of this terminal. The rules of this folder say nothing about
   * another one, and nothing about it is saved here.
   */
  #isHere({ rule = '' }: PendingApproval): boolean {
    const { built, conversation } = this.#options;
    const { folder = built().policy().root } = parseStandingRule(rule) ?? {};
    return conversation().otherFolder === undefined && folder === built().policy().root;
  }

  /** Approves other waiting calls that the new rule allows. */
  async #approveLike(answered: PendingApproval): Promise<void> {
    const { built, conversation } = this.#options;
    for (const approval of conversation().approvals) {
      if (approval.id === answered.id && approval.session === answered.session) continue;
      if (!this.#isHere(approval)) continue;
      const { id, name, input = null, judged } = approval;
      const call = { kind: 'tool_call', toolCallId: id, name, input } as const;
      const isAllowed = await built().allows({ ...call, arguments: JSON.stringify(input) }, judged);
      if (isAllowed) await conversation().approve(approval);
    }
  }
}

/**
 * Whether the log keeps the rule for the session. A rule of a sub-agent applies on the log to that
 * agent only. This process keeps it for all agents, so that one command can revoke it.
 */
function isForLog({ agents }: PendingApproval): boolean {
  return agents === undefined;
}

/** The permanent rule for an approval, in the form that the policy uses. */
function ruleToKeep(
  policy: PermissionPolicy,
  rule: PermissionRule,
  approval: PendingApproval,
): PermissionRule | undefined {
  const { name: tool, input } = approval;
  const always = alwaysRule(rule, approval);
  if (always === rule || always === undefined) return always;
  try {
    // The policy normalises the path.
    return policy.ruleFor({ tool, input }, 'allow');
  } catch {
    return undefined;
  }
}

/**
 * Whether the saved text is read as the same rule. Blanks around a path are not: a rule for a file
 * in a folder ` .git` would become one for `.git`.
 */
function isKeptByText(rule: PermissionRule): boolean {
  const text = ruleToText(rule);
  try {
    return ruleToText(ruleFromText(text, 'allow')) === text;
  } catch {
    return false;
  }
}
