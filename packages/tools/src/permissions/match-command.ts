import { resolve } from 'node:path';
import { foldName } from '../workspace/globs/folded-names.ts';
import { lexicalPath } from '../workspace/match-path.ts';
import { coveredPaths, namedRemote } from './closed-commands.ts';
import type { CompiledRule } from './permission-rule.ts';
import {
  isKnownProgram,
  parseReadOnlyCommand,
  type ReadOnlyCommand,
} from './read-only/read-only-command.ts';
import { readOnlyGitCommands } from './read-only/read-only-programs.ts';
import { baseName, isLauncher, type Word } from './split-command.ts';

/** One simple command of a command line. */
export interface CommandPart {
  readonly root: string;
  readonly line: string;
  readonly words: readonly Word[];
  /** The targets of the redirections in the line. */
  readonly targets: readonly Word[];
  readonly unsupportedSyntax: string | undefined;
}

/**
 * True if a rule matches a command. A rule that allows matches only if the parser fully understands the line,
 * and for some commands only with known arguments. A rule that asks or denies matches more loosely: it
 * accepts options between its words, a different path to the program, and any letter case.
 */
export function matchesCommand({ rule, about, words }: CompiledRule, part: CommandPart): boolean {
  if (about !== 'command') return about === 'tool';
  if (rule.exact) return rule.command === part.line;
  if (rule.decision !== 'allow') return looksLike(words, part, 'options');
  if (part.unsupportedSyntax !== undefined) return false;
  return (
    beginsWith(words, part) && coveredPaths(words, part.words, rule.yields ?? false) !== undefined
  );
}

/** True if a rule would allow the command without its additional arguments. */
function almostMatchesCommand({ rule, about, words }: CompiledRule, part: CommandPart): boolean {
  const isPrefix = about === 'command' && !rule.exact && rule.decision === 'allow';
  return isPrefix && part.unsupportedSyntax === undefined && beginsWith(words, part);
}

function beginsWith(words: readonly string[], part: CommandPart): boolean {
  return words.every((word, at) => part.words[at]?.isPlain && part.words[at].text === word);
}

/**
 * Returns the checks that are needed before a command runs that a prefix rule allows. The rule covers the
 * command itself. It does not cover programs that the repository makes git run. It also does not cover a
 * program in the folder that has the name of a known program.
 */
export function checksOfRule(
  { rule, about, words }: CompiledRule,
  part: CommandPart,
): ReadOnlyCommand | undefined {
  if (rule.decision !== 'allow' || rule.exact || about !== 'command') return undefined;
  const [program = ''] = words;
  const isGit = program === 'git';
  const read = parseReadOnlyCommand(part.words);
  // The user may have written a rule for `cat` for paths outside the root, so the paths of such a command are
  // not checked. The paths of a git command are always checked, because rules for git are about the repository.
  if (read !== undefined) return { ...read, paths: isGit || rule.yields ? read.paths : [] };
  const isGitReader = isGit && readOnlyGitCommands.has(part.words[1]?.text ?? '');
  const isChecked = rule.yields || isGitReader;
  const covered = isChecked ? (coveredPaths(words, part.words, rule.yields ?? false) ?? []) : [];
  const paths = covered.map((path) => {
    return { path, kind: 'read', hasWildcard: /[*?]/.test(path) } as const;
  });
  // The rule names a known program, and not a program of the folder.
  if (isKnownProgram(program)) return { program, paths, isGit, isByRule: true };
  if (!isGit && paths.length === 0) return undefined;
  const isLocal = localGitCommands.has(part.words[1]?.text ?? '');
  const gitUse = isLocal ? 'changes' : 'connects';
  const remote = namedRemote(words, part.words);
  return { program, paths, isGit, mayBeInside: !isGit, gitUse, remote };
}

/** The git commands that change the repository but never use a remote. */
const localGitCommands: ReadonlySet<string> = new Set(['add', 'commit']);

/**
 * True if a rule that asks or denies may match. The function does not know which options have a value, so a
 * word after an option may be its value.
 */
export function mayMatchCommand(compiled: CompiledRule, part: CommandPart): boolean {
  const { rule, about, words } = compiled;
  if (rule.decision === 'allow') return false;
  if (about === 'path') return countsFor(compiled, part) && namesPath(compiled, part);
  return about === 'command' && !rule.exact && looksLike(words, part, 'anything');
}

/** True if a command may use a path in the way that a rule is about. */
function countsFor({ isForWrites = false }: CompiledRule, part: CommandPart): boolean {
  return !isForWrites || part.targets.length > 0 || parseReadOnlyCommand(part.words) === undefined;
}

/**
 * True if the words of a rule match a command. Only options may appear between the words. With
 * `anything`, any words may follow an option, a program of the same name in another folder counts, and a word that
 * the shell expands stands for any words.
 */
function looksLike(
  words: readonly string[],
  { root, words: given }: CommandPart,
  between: 'options' | 'anything',
): boolean {
  const [program = '', ...rest] = words;
  const isWide = between === 'anything';
  if (!isSameProgram(program, given[0]?.text ?? '', { root, isWide })) return false;
  let at = 1;
  for (const word of rest) {
    const isFree = isWide && isOption(given[at]);
    while (given[at] !== undefined && given[at]?.text !== word && (isFree || isOption(given[at]))) {
      if (isWide && given[at]?.isPlain === false) return true;
      at++;
    }
    // Bash can replace `{push,x}` and `p*` by any words.
    if (isWide && given[at]?.isPlain === false) return true;
    if (given[at]?.text !== word) return false;
    at++;
  }
  return true;
}

/** True if a word of a command starts the program of a rule. The letter case makes no difference. */
function isSameProgram(
  ofRule: string,
  given: string,
  { root, isWide }: { readonly root: string; readonly isWide: boolean },
): boolean {
  const [program, called] = [foldName(ofRule), foldName(given)];
  if ([called, baseName(called)].includes(program)) return true;
  if (isWide && baseName(called) === baseName(program)) return true;
  const isPath = program.includes('/') && called.includes('/');
  return isPath && resolve(foldName(root), program) === resolve(foldName(root), called);
}

function isOption(word: Word | undefined): boolean {
  return word?.text.startsWith('-') === true;
}

function namesPath({ matchesPath }: CompiledRule, { root, words, targets }: CommandPart): boolean {
  return [...words.slice(1), ...targets]
    .flatMap(({ text }) => [text, text.slice(text.indexOf('=') + 1)])
    .some((path) => path !== '' && matchesPath(lexicalPath(root, path)));
}

/** Returns what a reason says after the name of a command without a rule. */
export function whyNoRule(rules: readonly CompiledRule[], part: CommandPart): string {
  if (part.unsupportedSyntax !== undefined)
    return `, and the command has ${part.unsupportedSyntax}`;
  const almost = rules.find((one) => almostMatchesCommand(one, part));
  if (almost === undefined) return '';
  return `: the rule for ${almost.rule.command} covers only known arguments`;
}

/** True if the parser cannot tell which programs the command runs. */
export function canRunAnything({ words, unsupportedSyntax }: CommandPart): boolean {
  const isPlain = words[0]?.isPlain === true;
  return unsupportedSyntax !== undefined || !isPlain || isLauncher(words.map(({ text }) => text));
}

const maxShownLength = 100;

/** Returns a command as a reason shows it. */
export function displayCommand({ words }: CommandPart): string {
  const text = words.map((word) => word.text).join(' ');
  if (text === '') return 'this command';
  return `\`${text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text}\``;
}
