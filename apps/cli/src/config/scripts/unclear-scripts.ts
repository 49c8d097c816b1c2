import { maxDepth, type Token, tokensOf, type Word } from './shell-tokens.ts';

/**
 * True if a command line can start a script whose name it does not show, such as `sh "$X"` or `. $A/$B`. Each file of a
 * project can then be the script. A word with a known part, such as `scripts/check-$X`, is not unclear, because the files
 * that it can name are known. A variable is not unclear either if the line shows its value, as in a loop over known names.
 *
 * @example hasUnclearScript('sh "$(printf scripts/%s check.sh)"'); // true
 */
export function hasUnclearScript(line: string, depth = 0): boolean {
  if (depth > maxDepth) return true;
  const tokens = tokensOf(line);
  if (tokens === undefined) return true;
  const inner = tokens.flatMap((token) => (typeof token === 'string' ? [] : token.inner));
  if (inner.some((text) => hasUnclearScript(text, depth + 1))) return true;
  const { known, set } = variablesOf(tokens);
  const isUnclear = ({ text, variable = '' }: Word) =>
    isWhollyUnknown(text) && !known.has(variable);
  // A variable that the line does not set comes from the environment, which the project does not control.
  const isUnclearProgram = (word: Word) =>
    isUnclear(word) &&
    (set.has(word.variable ?? '') || word.inner.some((text) => !findsProgram.test(text)));
  /** True if a command before this one in the same pipe has an unclear word. */
  let readsUnclear = false;
  for (const command of commandsOf(tokens)) {
    readsUnclear &&= command.isPiped;
    if (startsUnclear(command, readsUnclear, { isUnclear, isUnclearProgram, depth })) return true;
    readsUnclear ||= command.words.some(isUnclear);
  }
  return false;
}

/** Maximum number of values of a loop. With more, its variable counts as unknown. */
const maxValues = 1000;

/** The variables that a line sets. */
interface Variables {
  /**
   * The variables whose values have a known part and are words of the line: the variable of a loop, and a variable that a
   * command of its own sets. Something else must not set them.
   */
  readonly known: ReadonlySet<string>;
  /** All variables that the line may set, except to the path of a program. */
  readonly set: ReadonlySet<string>;
}

function variablesOf(tokens: readonly Token[]): Variables {
  const found = new Set<string>();
  const counts = new Map<string, number>();
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  const isBranched = tokens.some((token) => branches.test(wordText(token) ?? ''));
  for (const [index, token] of tokens.entries()) {
    if (typeof token === 'string') continue;
    const [last, next] = [tokens[index - 1], tokens[index + 1]];
    const [, name, value = ''] = /^(\w+)\+?=(.*)$/s.exec(token.text) ?? [];
    const isProgram = token.inner.length > 0 && token.inner.every((one) => findsProgram.test(one));
    if (name !== undefined && !isProgram) {
      count(name);
      const isOwn = [last, next].every((one) => one === undefined || one === ';');
      if (isOwn && !isBranched && /\w/.test(value)) found.add(name);
    }
    if (setsNext.test(wordText(last) ?? '')) count(token.text);
    if (setters.test(token.text)) for (const word of argumentsAfter(tokens, index)) count(word);
    if (token.text !== 'for' || typeof next !== 'object') continue;
    const rest = tokens.slice(index + 3, index + 3 + maxValues);
    const end = rest.findIndex((one) => typeof one === 'string');
    const isWhole = end !== -1 || rest.length < maxValues;
    const list = rest.slice(0, end === -1 ? undefined : end) as readonly Word[];
    const isKnown = isWhole && list.length > 0 && list.every(({ text }) => !isWhollyUnknown(text));
    if (wordText(tokens[index + 2]) === 'in' && isKnown) found.add(next.text);
  }
  const known = new Set([...found].filter((name) => counts.get(name) === 1));
  return { known, set: new Set(counts.keys()) };
}

/** Returns the words of the same command after a word. */
function argumentsAfter(tokens: readonly Token[], at: number): readonly string[] {
  const rest = tokens.slice(at + 1, at + 1 + maxValues);
  const end = rest.findIndex((token) => typeof token === 'string');
  return rest.slice(0, end === -1 ? undefined : end).flatMap((token) => wordText(token) ?? []);
}

/** Commands whose arguments can be names of variables that they set. */
const setters = /^(?:read|printf|mapfile|readarray|getopts|local|declare|typeset|export)$/;
const branches = /^(?:if|case|while|until|select)$/;
const setsNext = /^(?:for|select|unset)$/;

const wordText = (token: Token | undefined): string | undefined =>
  typeof token === 'object' ? token.text : undefined;

/** True if a word has an unknown part and no letter or digit, such as `$X`, `*` and `"$A/$B"`. */
function isWhollyUnknown(text: string): boolean {
  return text.includes('*') && !/\w/.test(text);
}

interface Command {
  readonly words: readonly Word[];
  /** The word after `<`. */
  readonly input?: Word | undefined;
  /** True if the command reads the output of the command before it. */
  readonly isPiped: boolean;
}

function commandsOf(tokens: readonly Token[]): readonly Command[] {
  const commands: Command[] = [];
  let [words, isPiped]: [Word[], boolean] = [[], false];
  let input: Word | undefined;
  let redirection: string | undefined;
  for (const token of [...tokens, ';']) {
    if (typeof token === 'object') {
      if (redirection === undefined) words.push(token);
      else if (redirection.includes('<')) input = token;
      redirection = undefined;
    } else if (/[<>]/.test(token)) redirection = token;
    else {
      if (words.length > 0) commands.push({ words, input, isPiped });
      if (words.length > 0 || token !== '|') isPiped = token === '|';
      [words, input, redirection] = [[], undefined, undefined];
    }
  }
  return commands;
}

const shells = /^(?:.*\/)?(?:ba|z|da|k|mk|a|fi|rba|c|tc)?sh$/;
const interpreters =
  /^(?:.*\/)?(?:node|bun|deno|tsx|ts-node|python[\d.]*|ruby|perl|php|lua|go|java|julia|elixir|tclsh|[gmn]?awk|g?sed|g?make)$/;
/** Words of the shell that stand before a command. */
const before = /^(?:if|then|elif|else|while|until|do|!|\{|time|builtin|command|exec|\w+\+?=.*)$/s;
/** Options whose value is the next word. */
const valuedOfShells = /^(?:[-+][oO]|--(?:rcfile|init-file))$/;
const valuedOfOthers =
  /^(?:-[rILlWXMfFv]|--(?:require|import|loader|file|makefile|env-file|experimental-loader))$/;
/** Options whose value is a program text. The other words are then its arguments. */
const inline = /^(?:-[a-zA-Z]*[ceEp]|--eval|--print)$/;
/** Programs that get their program text from the first word, unless the option `-f` names a file. */
const textFirst = /^(?:.*\/)?(?:[gmn]?awk|g?sed|g?make)$/;
const isFileOption = (text: string) => /^(?:-\w*f|--(?:make)?file=?)/.test(text);
/** True if an option makes a program only check the syntax of the file that follows. */
function checksOnly(program: string, option: string): boolean {
  if (shells.test(program)) return option === '-n';
  if (/(?:^|\/)node$/.test(program)) return option === '--check';
  return /(?:^|\/)php$/.test(program) && option === '-l';
}

/** Words between an interpreter and its script. */
const subcommands = /^(?:-|run|watch|test)$/;
/** Matches a command that prints the path of a program. */
const findsProgram =
  /^(?:(?:^|\|\|)\s*(?:(?:which|command\s+-v|type\s+-p)\s+[\w.-]+|echo\s+[\w-]+)\s*(?:2?>\s*\/dev\/null\s*)?)+$/;
/** Programs that start the program of their arguments. */
const wrappers =
  /^(?:.*\/)?(?:env|nohup|timeout|nice|ionice|setsid|stdbuf|chronic|sudo|doas|busybox)$/;
/** Words between a wrapper and the program: options, numbers, durations and variables. */
const ofWrappers = /^(?:-.*|[\d.]+[smhd]?|\w+=.*)$/s;
/** Commands of the shell whose arguments are command lines. */
const runsText = /^(?:eval|trap)$/;

interface Judge {
  readonly isUnclear: (word: Word) => boolean;
  /** Like `isUnclear`, for a word in the place of a program. */
  readonly isUnclearProgram: (word: Word) => boolean;
  readonly depth: number;
}

/** Returns the word that names the program of a command. */
function programOf(words: readonly Word[]): Word | undefined {
  let isWrapped = false;
  for (const word of words) {
    if (wrappers.test(word.text)) isWrapped = true;
    else if (!(isWrapped ? ofWrappers : before).test(word.text)) return word;
  }
  return undefined;
}

function startsUnclear(
  { words, input }: Command,
  readsUnclear: boolean,
  { isUnclear, isUnclearProgram, depth }: Judge,
): boolean {
  if (words.every(({ text }) => before.test(text))) return false;
  const first = programOf(words);
  if (first === undefined) return false;
  if (runsText.test(first.text)) {
    const texts = words.slice(words.indexOf(first) + 1);
    const line = texts.map(({ text }) => text).join(' ');
    return texts.some(isUnclear) || hasUnclearScript(line, depth + 1);
  }
  const isSource = /^(?:\.|source)$/.test(first.text);
  const at = words.findIndex(
    (word) =>
      (isSource && word === first) || shells.test(word.text) || interpreters.test(word.text),
  );
  // A substitution in the place of a program can be the name of any script.
  if (at < 0) return isUnclearProgram(first);
  const program = words[at]?.text ?? '';
  // Other commands of go, such as `go test`, start no program that their arguments name.
  if (/(?:^|\/)go$/.test(program) && !words.some(({ text }) => /^(?:run|tool)$/.test(text)))
    return false;
  const isShell = shells.test(program);
  const valued = isShell ? valuedOfShells : valuedOfOthers;
  let isEnded = false;
  let isValue = false;
  for (const [index, word] of words.slice(at + 1).entries()) {
    const { text } = word;
    const next = words[at + index + 2];
    const isOption = !isEnded && /^[-+]./.test(text);
    if (isValue) {
      if (isUnclear(word)) return true;
      isValue = false;
    } else if (text === '--') isEnded = true;
    else if (isOption && checksOnly(program, text) && !/^[-+]/.test(next?.text ?? '')) return false;
    else if (isOption && isShell && /^-[a-zA-Z]*c$/.test(text))
      return next !== undefined && (isUnclear(next) || hasUnclearScript(next.text, depth + 1));
    else if (isOption && textFirst.test(program) && isFileOption(text)) {
      if (/\*\W*$/.test(text) && !/\w/.test(text.replace(/^-+\w*/, ''))) return true;
      isValue = valued.test(text);
    } else if (isOption && inline.test(text) && !isShell) return false;
    else if (isOption) isValue = valued.test(text);
    else if (textFirst.test(program)) continue;
    else if (!subcommands.test(text) || isEnded) return isUnclear(word);
  }
  if (textFirst.test(program)) return false;
  // The names of the scripts are in the input of the command.
  if (words.slice(0, at).some(({ text }) => /^(?:.*\/)?(?:xargs|parallel)$/.test(text)))
    return true;
  if (input !== undefined) return isUnclear(input);
  return readsUnclear;
}
