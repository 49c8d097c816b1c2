import { parseJson } from '@millrace/core';
import type { PermissionRule } from './permission-rule.ts';

/** The rule of an approval that lasts, and the folder for which it was granted. */
export interface StandingRule {
  readonly rule: PermissionRule;
  /** The real path of the workspace. Undefined in logs of older versions. */
  readonly folder: string | undefined;
  /** Whether a sandbox confined the commands that the rule covers. */
  readonly isConfined: boolean;
}

/**
 * Returns the `rule` text of an approval that lasts. The text contains the folder. A session can be
 * continued in another folder, where the text differs, so the approval does not cover calls there.
 */
export function standingRuleText(rule: PermissionRule, folder: string): string {
  return JSON.stringify({ ...rule, in: folder });
}

/** Marks the text of a rule as a rule for commands in a sandbox. Returns other texts unchanged. */
export function confinedRuleText(text: string): string {
  const parsed = parseJson(text);
  const isRule = parsed.ok && typeof parsed.value === 'object' && parsed.value !== null;
  return isRule ? JSON.stringify({ ...parsed.value, confined: true }) : text;
}

/**
 * Reads the `rule` of an approval that `approveByPolicy` asked for. Returns undefined for any other
 * text.
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
