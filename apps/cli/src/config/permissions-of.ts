import { isMillraceError } from '@millrace/core';
import type { PermissionRule } from '@millrace/tools';
import type { ConfigArgs } from '../args/args.ts';
import { UsageError } from '../args/usage-error.ts';
import type { PermissionsConfig } from './config.ts';
import type { Layers } from './config-layers.ts';
import { checkRule, fileRules } from './file-rules.ts';
import { ruleFromText } from './rule-text.ts';

const reading: readonly PermissionRule[] = ['write', 'edit', 'bash'].map((tool) => ({
  tool,
  decision: 'deny',
  reason: 'this session is read-only',
}));

/** Rules of the files, then what was decided about the folder, then those of the flags. */
export async function permissionsOf(
  { layers, decisions }: Pick<Layers, 'layers' | 'decisions'>,
  { permissions, rules: flagRules = [] }: ConfigArgs,
): Promise<PermissionsConfig> {
  const modes = layers.map(({ settings }) => settings.permissions?.mode);
  const mode = permissions ?? modes.findLast((each) => each !== undefined) ?? 'ask';
  const ofFiles = await Promise.all(layers.map(fileRules));
  const remembered = [
    ...(decisions.allow ?? []).map((text) => ruleFromText(text, 'allow')),
    ...(decisions.deny ?? []).map((text) => ruleFromText(text, 'deny')),
  ];
  for (const rule of flagRules) await checkRule(rule).catch(rethrowAsUsage);
  const rules = [...ofFiles.flat(), ...remembered, ...flagRules];
  switch (mode) {
    case 'ask':
      return { mode, rules };
    case 'allow':
      return { mode, rules: [...rules, { decision: 'allow' }] };
    case 'read-only':
      return { mode, rules: [...rules, ...reading] };
  }
}

function rethrowAsUsage(error: unknown): never {
  if (!isMillraceError(error)) throw error;
  throw new UsageError(`${error.message}. Change --allow or --deny`, {}, { cause: error });
}
