import { type CompiledRule, lexicalPath } from './permission-rule.ts';
import { baseName, type Word } from './split-command.ts';

/** One simple command of a command line. */
export interface CommandPart {
  readonly root: string;
  readonly line: string;
  readonly words: readonly Word[];
  /** The targets of redirections in the line. */
  readonly targets: readonly Word[];
  readonly unsupportedSyntax: string | undefined;
}

/**
 * Whether a rule matches a command. A rule that allows matches only if the line is fully
 * understood. A rule that asks or denies matches more loosely: with options between its words, with
 * another path to the program, and in any letter case, because some file systems ignore case.
 */
export function matchesCommand({ rule, about, words }: CompiledRule, part: CommandPart): boolean {
  if (about !== 'command') return about === 'tool';
  if (rule.exact) return rule.command === part.line;
  if (rule.decision !== 'allow') return looksLike(words, part.words, 'options');
  if (part.unsupportedSyntax !== undefined) return false;
  return words.every((word, at) => part.words[at]?.isPlain && part.words[at].text === word);
}

/**
 * Whether a rule that asks or denies may match. It is unknown which options take a value, so words
 * after an option may be its value.
 */
export function mayMatchCommand(compiled: CompiledRule, part: CommandPart): boolean {
  const { rule, about, words } = compiled;
  if (rule.decision === 'allow') return false;
  if (about === 'path') return rule.decision === 'deny' && namesPath(compiled, part);
  return about === 'command' && !rule.exact && looksLike(words, part.words, 'anything');
}

/**
 * Compares the words of a rule with a command. Between the words, only options may appear. With
 * `anything`, any words may follow an option.
 */
function looksLike(
  words: readonly string[],
  given: readonly Word[],
  between: 'options' | 'anything',
): boolean {
  const [program = '', ...rest] = words;
  const called = (given[0]?.text ?? '').toLowerCase();
  if (![called, baseName(called)].includes(program.toLowerCase())) return false;
  let at = 1;
  for (const word of rest) {
    const isFree = between === 'anything' && isOption(given[at]);
    while (given[at] !== undefined && given[at]?.text !== word && (isFree || isOption(given[at])))
      at++;
    if (given[at]?.text !== word) return false;
    at++;
  }
  return true;
}

function isOption(word: Word | undefined): boolean {
  return word?.text.startsWith('-') === true;
}

function namesPath({ matchesPath }: CompiledRule, { root, words, targets }: CommandPart): boolean {
  return [...words.slice(1), ...targets]
    .flatMap(({ text }) => [text, text.slice(text.indexOf('=') + 1)])
    .some((path) => path !== '' && matchesPath(lexicalPath(root, path)));
}
