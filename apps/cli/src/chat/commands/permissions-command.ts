import type { PermissionRule } from '@millrace/tools';
import { modeTexts } from '../../agent/session-mode.ts';
import { ruleToText } from '../../config/rule-text.ts';
import { note } from '../contract/block.ts';
import { parseRule } from '../dialog/approval-choices.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

export const permissions: SlashCommand = {
  name: '/permissions',
  actsOutside: true,
  argument: '[revoke <n>]',
  description: 'Show the permission rules, or revoke one that you granted',
  choices: () => [{ value: 'revoke', description: 'Revokes a rule that you granted' }],
  async run(context, argument) {
    const given = await grantedRules(context);
    if (argument === '') return context.print(note('plain', describeRules(context, given)));
    const [, number] = /^revoke\s+(\d+)$/.exec(argument) ?? [];
    if (number === undefined) throw new Error(usageProblem(argument, given.length));
    const taken = given[Number(number) - 1];
    if (taken === undefined) throw new Error(`There is no rule ${number}. ${numberRange(given)}`);
    await revoke(context, taken);
    const text = `Revoked: ${describeRule(taken.rule)}. You will be asked again.`;
    context.print(note('plain', text));
  },
};

/** A rule that the user granted for this session or this folder. */
interface GrantedRule {
  readonly rule: PermissionRule;
  readonly since: 'session' | 'always';
  /** The text of the rule in the log. Undefined if the log does not contain the rule. */
  readonly text?: string | undefined;
}

/** Returns the rules of the session, then the rules of the folder, without duplicates. */
async function grantedRules({
  built,
  conversation,
}: CommandContext): Promise<readonly GrantedRule[]> {
  const kept = (await built.rememberedRules()).map((rule) => ({ rule, since: 'always' }) as const);
  const onLog = conversation.state.sessionRules.flatMap((text) => {
    const rule = parseRule(text);
    return rule === undefined ? [] : [{ rule, text, since: 'session' } as const];
  });
  const here = built.policy().remembered.map((rule) => ({ rule, since: 'session' }) as const);
  const known = new Set(kept.map(({ rule }) => describeRule(rule)));
  const ofSession = [...onLog, ...here].filter(({ rule }) => {
    const isNew = !known.has(describeRule(rule));
    known.add(describeRule(rule));
    return isNew;
  });
  return [...ofSession, ...kept];
}

async function revoke(context: CommandContext, { rule, text }: GrantedRule): Promise<void> {
  const { built, conversation } = context;
  const isSame = (one: string) => {
    const other = parseRule(one);
    return other !== undefined && describeRule(other) === describeRule(rule);
  };
  const texts = new Set(conversation.state.sessionRules.filter(isSame));
  if (text !== undefined) texts.add(text);
  for (const each of texts) await conversation.revoke(each);
  await built.forget(rule);
}

function describeRules({ built }: CommandContext, given: readonly GrantedRule[]): string {
  const own = new Set(given.map(({ rule }) => describeRule(rule)));
  const rules = built.policy().rules.filter((rule) => !own.has(describeRule(rule)));
  const numbered = given.map(({ rule, since }, index) => ({
    since,
    line: `  ${String(index + 1).padStart(2)}  ${describeRule(rule)}`,
  }));
  const of = (since: GrantedRule['since']) =>
    numbered.filter((one) => one.since === since).map(({ line }) => line);
  const way = given.length === 0 ? [] : ['', '/permissions revoke <n> revokes a rule.'];
  return [
    modeTexts[built.mode()].about,
    ...section(
      'Rules (a matching denial wins, otherwise the last match)',
      rules.map((rule) => `  ${describeRule(rule)}`),
    ),
    ...section('Granted in this session', of('session')),
    ...section('Granted for this folder', of('always')),
    ...way,
  ].join('\n');
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines];
}

function describeRule(rule: PermissionRule): string {
  const isAllFiles = rule.yields && rule.path === '**';
  const what = isAllFiles ? 'all file changes in this folder' : ruleToText(rule);
  return `${rule.decision.padEnd(5)}  ${what}`;
}

function numberRange(given: readonly GrantedRule[]): string {
  return given.length === 0 ? 'No rule was granted here' : `Choose 1 to ${given.length}`;
}

function usageProblem(argument: string, count: number): string {
  const way = count === 0 ? 'There is nothing to revoke' : `Use "revoke <n>" with 1 to ${count}`;
  return `Unknown argument "${argument}" for /permissions. ${way}, or no argument to list the rules`;
}
