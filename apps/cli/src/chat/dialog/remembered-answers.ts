import { type PermissionPolicy, type PermissionRule, parseStandingRule } from '@millrace/tools';
import { isKeptByText, ruleToText } from '../../config/rule-text.ts';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import type { Conversation } from '../session/conversation.ts';
import { alwaysRule, parseRule } from './approval-choices.ts';

interface RememberedAnswersOptions {
  readonly built: () => BuiltAgent;
  readonly conversation: () => Pick<Conversation, 'approve' | 'approvals' | 'otherFolder'>;
}

/** Submits answers that apply to several calls. */
export class RememberedAnswers {
  readonly #options: RememberedAnswersOptions;
  readonly #ruleCache = new WeakMap<
    PendingApproval,
    { readonly rule: PermissionRule | undefined }
  >();

  constructor(options: RememberedAnswersOptions) {
    this.#options = options;
  }

  readonly approveForSession = async (approval: PendingApproval, basis?: string): Promise<void> => {
    const { built, conversation } = this.#options;
    const rule = approval.rule === undefined ? undefined : parseRule(approval.rule);
    await conversation().approve(approval, { forSession: isForLog(approval), basis });
    if (rule === undefined || !this.#isHere(approval)) return;
    // The log stores rules for each sub-agent separately. This rule must apply to all agents, so
    // the process keeps it too.
    await built().remember(rule, 'session');
    await this.#approveLike(approval);
  };

  /** Returns the rule that the answer "always" saves. Returns undefined if no rule can be saved. */
  readonly ruleToSave = (approval: PendingApproval): PermissionRule | undefined => {
    if (!this.#isHere(approval)) return undefined;
    const known = this.#ruleCache.get(approval);
    if (known !== undefined) return known.rule;
    const asked = approval.rule === undefined ? undefined : parseRule(approval.rule);
    const kept = asked && ruleToKeep(this.#options.built().policy(), asked, approval);
    const rule = kept !== undefined && canBeSaved(kept) ? kept : undefined;
    this.#ruleCache.set(approval, { rule });
    return rule;
  };

  /**
   * Approves the call and saves the rule that the user saw. If the rule cannot be saved, the call
   * is still approved, and the error is thrown afterwards.
   */
  readonly approveAlways = async (
    approval: PendingApproval,
    rule: PermissionRule,
    basis?: string,
  ): Promise<void> => {
    const { built, conversation } = this.#options;
    const asked = approval.rule === undefined ? undefined : parseRule(approval.rule);
    const isSame = asked !== undefined && ruleToText(asked) === ruleToText(rule);
    await conversation().approve(approval, { forSession: isSame && isForLog(approval), basis });
    const kept = built().remember(rule, 'always');
    // If the rule cannot be saved, it still applies in this process.
    await Promise.all([this.#approveLike(approval), kept]);
  };

  /**
   * Returns true if the call runs in the folder of this terminal. Rules belong to a folder. So a
   * call in a different folder does not use or save rules of this folder.
   */
  #isHere({ rule = '' }: PendingApproval): boolean {
    const { built, conversation } = this.#options;
    const { folder = built().policy().root } = parseStandingRule(rule) ?? {};
    return conversation().otherFolder === undefined && folder === built().policy().root;
  }

  /** Approves all other waiting calls that the new rule allows. No rule answers a form. */
  async #approveLike(answered: PendingApproval): Promise<void> {
    const { built, conversation } = this.#options;
    for (const approval of conversation().approvals) {
      if (approval.id === answered.id && approval.session === answered.session) continue;
      if (approval.form !== undefined || !this.#isHere(approval)) continue;
      const { id, name, input = null, judged } = approval;
      const call = { kind: 'tool_call', toolCallId: id, name, input } as const;
      const isAllowed = await built().allows({ ...call, arguments: JSON.stringify(input) }, judged);
      if (isAllowed) await conversation().approve(approval);
    }
  }
}

/**
 * Returns true if the log stores the rule for the session. In the log, a rule of a sub-agent would
 * apply only to that sub-agent. So this process keeps the rule instead. It then applies to all
 * agents, and one command can revoke it.
 */
function isForLog({ agents }: PendingApproval): boolean {
  return agents === undefined;
}

/** Returns the rule to save for an approval, in the form that the policy uses. */
function ruleToKeep(
  policy: PermissionPolicy,
  rule: PermissionRule,
  approval: PendingApproval,
): PermissionRule | undefined {
  const { name: tool, input } = approval;
  const always = alwaysRule(rule, approval);
  if (always === rule || always === undefined) return always;
  try {
    // `ruleFor` normalizes the path.
    return policy.ruleFor({ tool, input }, 'allow');
  } catch {
    return undefined;
  }
}

/**
 * Returns true if the user sees the whole rule, and the rule is the same after it was saved as text. Nobody sees a
 * space at the end of a path or a command.
 */
function canBeSaved(rule: PermissionRule): boolean {
  const { path = '', command = '' } = rule;
  return [path, command].every((text) => text.trim() === text) && isKeptByText(rule);
}
