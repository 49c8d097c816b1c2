import { isMillraceError } from '@millrace/core';
import type { Decision, PermissionRule } from '@millrace/tools';
import { badPlace } from './check-file.ts';
import type { Layer } from './layer.ts';
import { ruleFromText } from './rule-text.ts';

// What asks comes after what allows: of the rules that fit, the last decides.
const decisions: readonly Decision[] = ['allow', 'ask', 'deny'];

/** The permission rules of a file, each one of which can be used. */
export async function fileRules({ file, settings }: Layer): Promise<readonly PermissionRule[]> {
  const { permissions = {} } = settings;
  const texts = decisions.flatMap((decision) =>
    (permissions[decision] ?? []).map((text, index) => ({ decision, text, index })),
  );
  const rules: PermissionRule[] = [];
  for (const { decision, text, index } of texts) {
    try {
      const rule = ruleFromText(text, decision);
      await checkRule(rule);
      rules.push(rule);
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      throw badPlace(file, ['permissions', decision, index], `is no rule. ${error.message}`, error);
    }
  }
  return rules;
}

/** A policy says by itself what is wrong with a rule. It is loaded only where there is one. */
export async function checkRule(rule: PermissionRule): Promise<void> {
  const { permissionPolicy } = await import('@millrace/tools');
  permissionPolicy({ root: '/', rules: [rule] });
}
