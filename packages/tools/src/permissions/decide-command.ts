import type { ReadyRule } from './permission-rule.ts';
import { type Ruling, rulingOf, rulingRule, strictest } from './ruling.ts';
import { baseName, isLauncher } from './shell-syntax.ts';
import { splitCommand, type Word } from './split-command.ts';

/**
 * Decides on a command line by the rules of its tool. Each command in it is decided on by itself, and
 * the strictest decides on the whole.
 */
export function decideCommand(rules: readonly ReadyRule[], line: string): Ruling {
  const { parts, obstacle } = splitCommand(line);
  const rulings = parts.map((words) => decidePart(rules, { line, words, obstacle }));
  return strictest(rulings) ?? decidePart(rules, { line, words: [], obstacle });
}

interface Part {
  readonly line: string;
  readonly words: readonly Word[];
  readonly obstacle: string | undefined;
}

function decidePart(rules: readonly ReadyRule[], part: Part): Ruling {
  const what = shown(part);
  const deciding = rulingRule(rules.filter((ready) => fits(ready, part)));
  if (deciding === undefined) {
    const why = part.obstacle === undefined ? '' : `, and the command has ${part.obstacle}`;
    return { decision: 'ask', reason: `No rule allows ${what}${why}` };
  }
  const isWideYes = deciding.rule.decision === 'allow' && deciding.about === 'tool';
  if (isWideYes && isBlind(part) && rules.some(isNarrowNo)) {
    const reason = `Some commands are not allowed, and what ${what} runs cannot be told`;
    return { decision: 'ask', reason };
  }
  return rulingOf(deciding, what);
}

function fits({ rule, about, words }: ReadyRule, part: Part): boolean {
  if (about !== 'command') return about === 'tool';
  if (rule.exact) return rule.command === part.line;
  // A yes needs a line that is fully understood; for a no it is enough that it looks like one.
  if (rule.decision !== 'allow') return words.every((word, at) => isLike(word, part.words[at], at));
  if (part.obstacle !== undefined) return false;
  return words.every((word, at) => part.words[at]?.isPlain && part.words[at].text === word);
}

function isLike(word: string, given: Word | undefined, at: number): boolean {
  if (given === undefined) return false;
  return given.text === word || (at === 0 && baseName(given.text) === word);
}

function isBlind({ words, obstacle }: Part): boolean {
  const [program] = words;
  return obstacle !== undefined || !program?.isPlain || isLauncher(program.text);
}

function isNarrowNo({ rule, about }: ReadyRule): boolean {
  return about === 'command' && !rule.exact && rule.decision !== 'allow';
}

const maxShownLength = 100;

function shown({ words }: Part): string {
  const text = words.map((word) => word.text).join(' ');
  if (text === '') return 'this command';
  return `\`${text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text}\``;
}
