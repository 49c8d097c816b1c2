import { parseJson } from '@millrace/core';
import type { PermissionRule } from './permission-rule.ts';

/** The rule of a standing approval, and the folder for which it was granted. */
export interface StandingRule {
  readonly rule: PermissionRule;
  /** The real path of the workspace. Undefined in logs of older versions. */
  readonly folder: string | undefined;
  /** True if a sandbox confined the commands that the rule covers. */
  readonly isConfined: boolean;
}

/**
 * Returns the `rule` text of a standing approval. The text contains the folder. If a session continues in a
 * different folder, the text differs there, and the approval does not cover calls in that folder.
 */
export function standingRuleText(rule: PermissionRule, folder: string): string {
  return JSON.stringify({ ...rule, in: folder });
}

/**
 * Adds a mark to the text of a rule: the rule covers only commands in a sandbox. If the text is not a rule,
 * the function returns it unchanged.
 */
export function confinedRuleText(text: string): string {
  const parsed = parseJson(text);
  const isRule = parsed.ok && typeof parsed.value === 'object' && parsed.value !== null;
  return isRule ? JSON.stringify({ ...parsed.value, confined: true }) : text;
}

/**
 * Parses the `rule` text of a standing approval that `approveByPolicy` created. Returns undefined for any
 * other text.
 */
export function parseStandingRule(text: string): StandingRule | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return undefined;
  const { in: folder, confined, ...rule } = parsed.value as Readonly<Record<string, unknown>>;
  if (rule['decision'] !== 'allow') return undefined;
  return {
    rule: rule as unknown as PermissionRule,
    folder: typeof folder === 'string' ? folder : undefined,
    isConfined: confined === true,
  };
}
