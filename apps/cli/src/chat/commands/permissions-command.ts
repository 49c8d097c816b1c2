import type { PermissionRule } from '@millrace/tools';
import { ruleToText } from '../../config/rule-text.ts';
import { note } from '../contract/block.ts';
import { ruleOf } from '../dialog/approval-choices.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

const modes = {
  ask: 'Reading in this folder is allowed, also by commands that only look; whatever else no rule is about is asked about.',
  allow: 'Everything is allowed that no rule denies.',
  'read-only': 'Nothing is changed and nothing is run.',
} as const;

export const permissions: SlashCommand = {
  name: '/permissions',
  argument: '[revoke <n>]',
  description: 'What may be done without asking; takes back what you allowed',
  choices: () => [{ value: 'revoke', description: 'Takes back what you allowed' }],
  async run(context, argument) {
    const given = await givenRules(context);
    if (argument === '') return context.print(note('plain', told(context, given)));
    const [, number] = /^revoke\s+(\d+)$/.exec(argument) ?? [];
    if (number === undefined) throw new Error(wrong(argument, given.length));
    const taken = given[Number(number) - 1];
    if (taken === undefined) throw new Error(`There is no ${number} to revoke. ${range(given)}`);
    await revoke(context, taken);
    const text = `Revoked: ${shown(taken.rule)}. It is asked about again.`;
    context.print(note('plain', text));
  },
};

/** Something that a person allowed, or denied, here. */
interface GivenRule {
  readonly rule: PermissionRule;
  readonly since: 'session' | 'always';
  /** What it is called on the log. */
  readonly text?: string | undefined;
}

/** For the session first, then for the folder; each once. */
async function givenRules({ built, conversation }: CommandContext): Promise<readonly GivenRule[]> {
  const kept = (await built.kept()).map((rule) => ({ rule, since: 'always' }) as const);
  const onLog = conversation.state.standing.flatMap((text) => {
    const rule = ruleOf(text);
    return rule === undefined ? [] : [{ rule, text, since: 'session' } as const];
  });
  const here = built.policy().remembered.map((rule) => ({ rule, since: 'session' }) as const);
  const known = new Set(kept.map(({ rule }) => shown(rule)));
  const ofSession = [...onLog, ...here].filter(({ rule }) => {
    const isNew = !known.has(shown(rule));
    known.add(shown(rule));
    return isNew;
  });
  return [...ofSession, ...kept];
}

async function revoke(context: CommandContext, { rule, text }: GivenRule): Promise<void> {
  const { built, conversation } = context;
  const isSame = (one: string) => {
    const other = ruleOf(one);
    return other !== undefined && shown(other) === shown(rule);
  };
  const texts = new Set(conversation.state.standing.filter(isSame));
  if (text !== undefined) texts.add(text);
  for (const each of texts) await conversation.revoke(each);
  await built.forget(rule);
}

function told({ built, config }: CommandContext, given: readonly GivenRule[]): string {
  const own = new Set(given.map(({ rule }) => shown(rule)));
  const rules = built.policy().rules.filter((rule) => !own.has(shown(rule)));
  const numbered = given.map(({ rule, since }, index) => ({
    since,
    line: `  ${String(index + 1).padStart(2)}  ${shown(rule)}`,
  }));
  const of = (since: GivenRule['since']) =>
    numbered.filter((one) => one.since === since).map(({ line }) => line);
  const way = given.length === 0 ? [] : ['', '/permissions revoke <n> takes one back.'];
  return [
    modes[config.permissions.mode],
    ...section(
      'Rules, a denial first and then the last that fits',
      rules.map((rule) => `  ${shown(rule)}`),
    ),
    ...section('Decided in this session', of('session')),
    ...section('Remembered for this folder', of('always')),
    ...way,
  ].join('\n');
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines];
}

function shown(rule: PermissionRule): string {
  const isAllFiles = rule.yields && rule.path === '**';
  const what = isAllFiles ? 'all changes of files in this folder' : ruleToText(rule);
  return `${rule.decision.padEnd(5)}  ${what}`;
}

function range(given: readonly GivenRule[]): string {
  return given.length === 0 ? 'Nothing was allowed here' : `They are 1 to ${given.length}`;
}

function wrong(argument: string, count: number): string {
  const way = count === 0 ? 'There is nothing to revoke' : `Say "revoke <n>", 1 to ${count}`;
  return `/permissions does not know "${argument}". ${way}, or nothing to see the rules`;
}
