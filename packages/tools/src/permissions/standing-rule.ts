import { parseJson } from '@millrace/core';
import type { PermissionRule } from './permission-rule.ts';

/** A rule of an approval that lasts, with the place for which it was granted. */
export interface StandingRule {
  readonly rule: PermissionRule;
  /** The real path of the workspace. Undefined in logs of older versions. */
  readonly folder: string | undefined;
  /** Whether a sandbox confined the commands that the rule is about. */
  readonly isConfined: boolean;
}

/**
 * Returns the `rule` of an approval that lasts. A session can be continued in another folder, and
 * without the sandbox. The rule is another text there, so the approval does not cover calls there.
 */
export function standingRuleText(rule: PermissionRule, folder: string): string {
  return JSON.stringify({ ...rule, in: folder });
}

/** Marks a rule for commands that a sandbox confines. Returns other texts unchanged. */
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
