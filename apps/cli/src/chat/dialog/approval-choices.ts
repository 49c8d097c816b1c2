import { parseJson } from '@millrace/core';
import type { PermissionRule } from '@millrace/tools';
import { ruleToText } from '../../config/rule-text.ts';
import type { ChoiceItem, PendingApproval } from '../contract/dialog.ts';

export type ApprovalAction = 'once' | 'session' | 'waiting' | 'always' | 'change' | 'deny';

export interface ApprovalChoice extends ChoiceItem {
  readonly action: ApprovalAction;
}

/**
 * Returns the possible answers to an approval. `others` is the number of further approvals. A
 * lasting answer is offered only if there is a rule for it.
 */
export function approvalChoices(approval: PendingApproval, others = 0): readonly ApprovalChoice[] {
  const { rule, input } = approval;
  const known = rule === undefined ? undefined : parseRule(rule);
  const always = known === undefined ? undefined : alwaysRule(known, approval);
  const choices: readonly (ApprovalChoice | undefined)[] = [
    { action: 'once', label: 'Yes, once', letter: 'y' },
    rule === undefined
      ? undefined
      : { action: 'session', label: `Yes, and ${ruleScope(known)} in this session`, letter: 's' },
    others === 0
      ? undefined
      : { action: 'waiting', label: `Yes to all ${others + 1} waiting now`, letter: 'w' },
    always === undefined
      ? undefined
      : {
          ...{ action: 'always', label: 'Always, in this folder', letter: 'a' },
          detail: ruleToText(always),
        },
    input === undefined ? undefined : { action: 'change', label: 'Change the input', letter: 'c' },
    { action: 'deny', label: 'No, with a reason', letter: 'n' },
  ];
  return choices.filter((choice) => choice !== undefined);
}

/** Describes the scope of an answer for the session. */
function ruleScope(rule: PermissionRule | undefined): string {
  if (rule === undefined) return 'similar requests';
  const { command, path, exact, tool } = rule;
  if (command !== undefined) return exact ? 'exactly this command' : `all “${command} …”`;
  if (isAllFiles(rule)) return 'all file changes in this folder';
  if (path !== undefined) return exact ? 'exactly this path' : path;
  return tool === undefined ? 'similar requests' : `${tool} with any input`;
}

function isAllFiles({ path, exact }: PermissionRule): boolean {
  return path === '**' && !exact;
}

/** A permanent rule allows less than a session rule: for files, only the requested path. */
export function alwaysRule(
  rule: PermissionRule,
  { name: tool, input }: Pick<PendingApproval, 'name' | 'input'>,
): PermissionRule | undefined {
  if (!isAllFiles(rule)) return rule;
  const { path } = (input ?? {}) as { readonly path?: unknown };
  return typeof path === 'string' ? { tool, path, exact: true, decision: 'allow' } : undefined;
}

/** Parses a rule that the policy wrote. Returns undefined for any other text. */
export function parseRule(text: string): PermissionRule | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return undefined;
  const rule = parsed.value as { readonly [Field in keyof PermissionRule]?: unknown };
  return rule.decision === 'allow' ? (parsed.value as unknown as PermissionRule) : undefined;
}
