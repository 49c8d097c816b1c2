import { type CompiledRule, lexicalPath } from './permission-rule.ts';
import { baseName, type Word } from './split-command.ts';

/** One command of a command line. */
export interface CommandPart {
  readonly root: string;
  readonly line: string;
  readonly words: readonly Word[];
  /** Where redirections of the line lead. */
  readonly targets: readonly Word[];
  readonly unsupportedSyntax: string | undefined;
}

/**
 * Whether a rule is about a command. A yes needs a line that is fully understood; for a no it is enough
 * that it looks like one: with options between its words, by another path, in any case of letters,
 * because on some file systems that is the same program.
 */
export function matchesCommand({ rule, about, words }: CompiledRule, part: CommandPart): boolean {
  if (about !== 'command') return about === 'tool';
  if (rule.exact) return rule.command === part.line;
  if (rule.decision !== 'allow') return looksLike(words, part.words, 'options');
  if (part.unsupportedSyntax !== undefined) return false;
  return words.every((word, at) => part.words[at]?.isPlain && part.words[at].text === word);
}

/** Whether a rule that does not allow may be about it: nobody knows which options take a word. */
export function mayMatchCommand(compiled: CompiledRule, part: CommandPart): boolean {
  const { rule, about, words } = compiled;
  if (rule.decision === 'allow') return false;
  if (about === 'path') return rule.decision === 'deny' && namesPath(compiled, part);
  return about === 'command' && !rule.exact && looksLike(words, part.words, 'anything');
}

/** `anything` may be between its words where that begins with an option; otherwise options alone may. */
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
