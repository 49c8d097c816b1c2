import { type CommandPart, fitsCommand, mayFitCommand } from './match-command.ts';
import type { ReadyRule } from './permission-rule.ts';
import type { Reading } from './reading/reading.ts';
import { type Ruling, rulingOf, rulingRule, strictest } from './ruling.ts';
import { isLauncher } from './shell-syntax.ts';
import { splitCommand, type Word } from './split-command.ts';

/**
 * Decides on a command line by the rules of its tool. Each command in it is decided on by itself, and
 * the strictest decides on the whole.
 */
export function decideCommand(
  rules: readonly ReadyRule[],
  line: string,
  { root, read }: CommandCircumstances,
): Ruling {
  const { parts, targets, obstacle } = splitCommand(line);
  const decide = (words: readonly Word[]) =>
    decidePart(rules, { root, line, words, targets, obstacle }, read);
  const rulings = parts.map(decide);
  const ruling = strictest(rulings) ?? decide([]);
  const readings = rulings.flatMap((one) => one.readings ?? []);
  return ruling.decision === 'allow' && readings.length > 0 ? { ...ruling, readings } : ruling;
}

export interface CommandCircumstances {
  readonly root: string;
  /** What is looked at by a command that only looks at what may be looked at. */
  readonly read?: ((words: readonly Word[]) => Reading | undefined) | undefined;
}

function decidePart(
  rules: readonly ReadyRule[],
  part: CommandPart,
  read: CommandCircumstances['read'],
): Ruling {
  const what = shown(part);
  const deciding = rulingRule(rules.filter((ready) => fitsCommand(ready, part)));
  if (deciding === undefined) {
    const isFeared = part.obstacle !== undefined || rules.some((one) => mayFitCommand(one, part));
    const reading = isFeared ? undefined : read?.(part.words);
    if (reading !== undefined)
      return { decision: 'allow', reason: `${what} only looks`, readings: [reading] };
    const why = part.obstacle === undefined ? '' : `, and the command has ${part.obstacle}`;
    return { decision: 'ask', reason: `No rule allows ${what}${why}` };
  }
  const doubt = doubtAbout(rules, deciding, part);
  return doubt === undefined ? rulingOf(deciding, what) : { decision: 'ask', reason: doubt };
}

/** Why it is better to ask, though a rule allows it. Where that very line is allowed, there is no doubt. */
function doubtAbout(
  rules: readonly ReadyRule[],
  deciding: ReadyRule,
  part: CommandPart,
): string | undefined {
  const { rule, about } = deciding;
  if (rule.decision !== 'allow' || rule.exact) return undefined;
  const isBlindYes = about === 'tool' && isBlind(part);
  if (isBlindYes && rules.some(isNarrowNo)) {
    return `Some commands are not allowed, and what ${shown(part)} runs cannot be told`;
  }
  const feared = rulingRule(
    rules.filter((ready) => ready === deciding || mayFitCommand(ready, part)),
  );
  if (feared === undefined || feared === deciding) return undefined;
  const { command, path = command, decision } = feared.rule;
  const is = decision === 'deny' ? 'is denied' : 'is to be asked for';
  return `${shown(part)} may be about ${path}, which ${is}`;
}

function isBlind({ words, obstacle }: CommandPart): boolean {
  const isPlain = words[0]?.isPlain === true;
  return obstacle !== undefined || !isPlain || isLauncher(words.map(({ text }) => text));
}

function isNarrowNo({ rule, about }: ReadyRule): boolean {
  return about === 'command' && !rule.exact && rule.decision !== 'allow';
}

const maxShownLength = 100;

function shown({ words }: CommandPart): string {
  const text = words.map((word) => word.text).join(' ');
  if (text === '') return 'this command';
  return `\`${text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text}\``;
}
