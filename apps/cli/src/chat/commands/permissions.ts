import type { PermissionRule } from '@millrace/tools';
import { ruleToText } from '../../config/rule-text.ts';
import { note } from '../state/block.ts';
import type { SlashCommand } from './slash-command.ts';

const modes = {
  ask: 'Reading in this folder is allowed; whatever else no rule is about is asked about.',
  allow: 'Everything is allowed that no rule denies.',
  'read-only': 'Nothing is changed and nothing is run.',
} as const;

export const permissions: SlashCommand = {
  name: '/permissions',
  description: 'What may be done without asking',
  run({ built, config, print }) {
    const { rules, remembered } = built.policy();
    const told = [
      modes[config.permissions.mode],
      ...section('Rules, a denial first and then the last that fits', rules),
      ...section('Decided in this session', remembered),
    ];
    print(note('plain', told.join('\n')));
  },
};

function section(title: string, rules: readonly PermissionRule[]): readonly string[] {
  if (rules.length === 0) return [];
  return [
    '',
    `${title}:`,
    ...rules.map((rule) => `  ${rule.decision.padEnd(5)}  ${ruleToText(rule)}`),
  ];
}
