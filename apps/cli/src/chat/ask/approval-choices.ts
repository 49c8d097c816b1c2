import { parseJson } from '@millrace/core';
import type { PermissionRule } from '@millrace/tools';
import { ruleToText } from '../../config/rule-text.ts';
import type { PendingApproval } from '../state/pending.ts';
import type { ChoiceItem } from './choice-list.ts';

export type ApprovalAction = 'once' | 'session' | 'always' | 'change' | 'deny';

export interface ApprovalChoice extends ChoiceItem {
  readonly action: ApprovalAction;
}

/** What a person can answer. What would last has to be about something that can be said. */
export function approvalChoices({ rule, input }: PendingApproval): readonly ApprovalChoice[] {
  const known = rule === undefined ? undefined : ruleOf(rule);
  const about = known === undefined ? undefined : ruleToText(known);
  return [
    { action: 'once', label: 'Yes, this once', letter: 'y' },
    ...(rule === undefined
      ? []
      : [{ action: 'session', label: 'Yes, and the like in this session', letter: 's' } as const]),
    ...(about === undefined
      ? []
      : [
          {
            action: 'always',
            label: 'Always, in this folder',
            detail: about,
            letter: 'a',
          } as const,
        ]),
    ...(input === undefined
      ? []
      : [{ action: 'change', label: 'Change what it gets', letter: 'c' } as const]),
    { action: 'deny', label: 'No, and say why', letter: 'n' },
  ];
}

/** The policy's rule, which it wrote itself; undefined where somebody else wrote something else. */
export function ruleOf(text: string): PermissionRule | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return undefined;
  const rule = parsed.value as { readonly [Field in keyof PermissionRule]?: unknown };
  return rule.decision === 'allow' ? (parsed.value as unknown as PermissionRule) : undefined;
}
