import { lexicalPath } from '../workspace/match-path.ts';
import { coveredPaths, namedRemote } from './closed-commands.ts';
import type { CompiledRule } from './permission-rule.ts';
import { parseReadOnlyCommand, type ReadOnlyCommand } from './read-only/read-only-command.ts';
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
 * understood, and for some commands only known arguments. A rule that asks or denies matches more
 * loosely: with options between its words, with another path to the program, and in any letter
 * case, because some file systems ignore case.
 */
export function matchesCommand({ rule, about, words }: CompiledRule, part: CommandPart): boolean {
  if (about !== 'command') return about === 'tool';
  if (rule.exact) return rule.command === part.line;
  if (rule.decision !== 'allow') return looksLike(words, part.words, 'options');
  if (part.unsupportedSyntax !== undefined) return false;
  return (
    beginsWith(words, part) && coveredPaths(words, part.words, rule.yields ?? false) !== undefined
  );
}

/** Whether a rule would allow a command if it covered its further arguments. */
export function almostMatchesCommand(
  { rule, about, words }: CompiledRule,
  part: CommandPart,
): boolean {
  const isPrefix = about === 'command' && !rule.exact && rule.decision === 'allow';
  return isPrefix && part.unsupportedSyntax === undefined && beginsWith(words, part);
}

function beginsWith(words: readonly string[], part: CommandPart): boolean {
  return words.every((word, at) => part.words[at]?.isPlain && part.words[at].text === word);
}

/**
 * What to check before a command runs that a prefix rule allows. The rule says what the command may
 * do. It does not say that the repository may make git run programs, or that a program of the
 * folder may replace a known one.
 */
export function checksOfRule(
  { rule, about, words }: CompiledRule,
  part: CommandPart,
): ReadOnlyCommand | undefined {
  if (rule.decision !== 'allow' || rule.exact || about !== 'command') return undefined;
  const [program = ''] = words;
  const isGit = program === 'git';
  const read = parseReadOnlyCommand(part.words);
  // A rule of a file for `cat` may be meant for paths elsewhere. Git is about the repository.
  if (read !== undefined) return { ...read, paths: isGit || rule.yields ? read.paths : [] };
  const covered = rule.yields ? (coveredPaths(words, part.words, true) ?? []) : [];
  const paths = covered.map((path) => ({ path, kind: 'read' }) as const);
  if (!isGit && paths.length === 0) return undefined;
  const isLocal = localGitCommands.has(part.words[1]?.text ?? '');
  const gitUse = isLocal ? 'changes' : 'connects';
  const remote = namedRemote(words, part.words);
  return { program, paths, isGit, mayBeInside: !isGit, gitUse, remote };
}

/** Git commands that change the repository and never use a remote. */
const localGitCommands: ReadonlySet<string> = new Set(['add', 'commit']);

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
