import { homedir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { isLauncher, permissionPolicy, splitCommand, type Word } from '@millrace/tools';
import { matcherAccepts } from '../hook-settings.ts';

/** A tool call that is compared with the condition of a hook. */
interface ConditionedCall {
  readonly names: readonly string[];
  readonly input: object;
  /** The absolute paths of the call: the real path, and the path as the model wrote it. Default: those in `input`. */
  readonly paths?: readonly string[] | undefined;
}

/** The folders in which the paths of a condition start. */
interface ConditionPlace {
  /** The folder of the session. */
  readonly cwd: string;
  /** The folder of the project. */
  readonly projectFolder: string;
  /** The home folder of the user. Default: that of the process. */
  readonly home?: string | undefined;
}

/**
 * Returns true if the condition of a hook accepts a tool call. A condition has the form of a permission rule, such as
 * `Bash(git push *)` or `Edit(*.ts)`. The hook can be a guard, so it runs if it is unclear whether the condition
 * accepts the call.
 */
export function conditionAccepts(
  condition: string | undefined,
  { names, input, paths = [] }: ConditionedCall,
  place: ConditionPlace,
): boolean {
  if (condition === undefined) return true;
  const [, tool = condition, pattern] = /^([^(]+)\((.*)\)$/s.exec(condition.trim()) ?? [];
  if (!acceptsTool(tool.trim(), names)) return false;
  if (pattern === undefined || pattern === '*' || pattern.trim() === '') return true;
  const { command, file_path: file, path } = input as Readonly<Record<string, unknown>>;
  if (typeof command === 'string') return acceptsCommand(pattern, command);
  const used = paths.length > 0 ? paths : [file, path].filter((one) => typeof one === 'string');
  // A condition on a value that the call does not have must not switch a guard off.
  return used.length === 0 || used.some((one) => acceptsPath(pattern.trim(), one, place));
}

/** A name can also be a list or a regular expression, as in a matcher. A name that is not valid accepts all tools. */
function acceptsTool(tool: string, names: readonly string[]): boolean {
  try {
    return matcherAccepts(tool, names);
  } catch {
    return true;
  }
}

/**
 * True if a path, or a folder above it, matches a pattern. The rules of the policy that deny paths match in the same
 * way. `/src` starts in the folder of the project, and `//etc` at the root of the file system. A pattern without such a
 * start also matches the end of a path.
 */
function acceptsPath(
  pattern: string,
  given: string,
  { cwd, projectFolder, home = homedir() }: ConditionPlace,
): boolean {
  // Nothing tells which path a shell would insert here.
  if (/\$|^%|^~(?!\/)/.test(pattern)) return true;
  const [, start = '', rest = ''] = /^(~\/|\/\/|\/|(?:\.\/)+|)(.*)$/s.exec(pattern) ?? [];
  const below = (folder: string) =>
    `${folder.replace(globSigns, '\\$&').replace(/\/$/, '')}/${rest}`;
  const own = [cwd, projectFolder].map(below);
  const globs: readonly string[] =
    {
      '~/': [below(home)],
      '//': [below('/')],
      '/': [...own, below('/')],
      '': [...own, `/**/${rest}`],
    }[start] ?? own;
  const path = isAbsolute(given) ? given : resolve(cwd, given);
  try {
    const rules = [...new Set(globs)].map((glob) => ({ path: glob, decision: 'deny' }) as const);
    return permissionPolicy({ root: '/', rules }).decide(readOf(path)).decision === 'deny';
  } catch {
    // The pattern is not a valid glob.
    return true;
  }
}

const globSigns = /[\\*?[\]{}()!+@|"]/g;
const readOf = (path: string) => ({ tool: 'read', input: { path } });

/** True if one of the commands in a line may be the command of a pattern, such as `git push *`. */
function acceptsCommand(pattern: string, line: string): boolean {
  const plain = pattern.replace(/:\*$/, '*').trim();
  const wild = plain.split(/\*+/).map(escaped).join('.*');
  return (
    hasUnknownCommand(line, pattern) ||
    commandStarts(line).some(
      (start) => unknownCommand.test(start) || new RegExp(`^${wild}`, 's').test(`${start} `),
    ) ||
    splitCommand(line).parts.some((words) => looksLike(plain.split(/\s+/), words))
  );
}

/**
 * True if the words of a command match a pattern although options with their values are between the words, as in
 * `git -C . push`. The options of the pattern can be anywhere, and in another form.
 */
function looksLike(pattern: readonly string[], [program, ...words]: readonly Word[]): boolean {
  const [first = '', ...wanted] = pattern;
  const name = program?.text.replace(/^.*\//s, '') ?? '';
  if (![name, program?.text ?? ''].some((one) => wordPattern(first).test(one))) return false;
  const given = words.filter(({ text }) => isOption(text)).map(({ text }) => text);
  if (!wanted.filter(isOption).every((option) => mayHaveOption(option, given))) return false;
  const rest = wanted.filter((word) => !isOption(word) && word !== '*').map(wordPattern);
  // With `*` between its words, a pattern accepts any words there.
  const isOpen = wanted.slice(0, -1).includes('*');
  let at = 0;
  let isFree = isOpen || first.endsWith('*');
  for (const { text, isPlain } of words) {
    const next = rest[at];
    if (next === undefined) break;
    // Bash can replace `{push,x}` and `p*` by any words.
    if (next.test(text) || !isPlain) {
      at++;
      isFree = isOpen;
    } else if (isOption(text)) isFree = true;
    else if (!isFree) return false;
  }
  return at === rest.length;
}

const isOption = (word: string): boolean => /^-./.test(word);

/** True if one of the options may mean the same as an option of a pattern: `-rf` as `-fr`, or `--force` as `-f`. */
function mayHaveOption(wanted: string, given: readonly string[]): boolean {
  const nameOf = (option: string) => option.replace(/[=*].*$/s, '');
  if (!wanted.startsWith('--')) {
    const letters = given.filter((one) => !one.startsWith('--')).join('');
    const isMissing = [...nameOf(wanted)].filter((letter) => !letters.includes(letter));
    return isMissing.length === 0 || given.some((one) => one.startsWith('--'));
  }
  const name = nameOf(wanted);
  return given.some(
    (one) => !one.startsWith('--') || name.startsWith(nameOf(one)) || one.startsWith(name),
  );
}

function wordPattern(word: string): RegExp {
  return new RegExp(`^${word.split(/\*+/).map(escaped).join('.*')}$`, 'is');
}

/** Programs that can run a different program than the line shows. */
const hidingPrograms = /^(?:hash|alias|enable|prlimit|choom|[gmn]?awk)$/;
/** Matches an option of git that defines an alias. Such a name can run any command. */
const definesAlias = /^(?:-c)?alias\.|^--config-env/i;
/** Matches a script of `sed` that runs a program: the command `e`, or the flag `e` of a substitution. */
const runsInSed = /(?:^|[\s;{}!$\d/,])e(?:\s|;|}|$)|[^\w\s][gpIiMm\d]*e[gpIiMm\d]*(?:[\s;}]|$)/;

/**
 * True if the line may run a command that its words do not show. The shell can replace a word that is not plain,
 * so the line must have plain words where the pattern has its words up to the first `*`.
 */
function hasUnknownCommand(line: string, pattern: string): boolean {
  const { parts, unsupportedSyntax } = splitCommand(line);
  if (unsupportedSyntax !== undefined) return true;
  const [start = '', ...others] = pattern.replace(/:\*$/, '*').trim().split('*');
  const isPrefix = others.length === 0 || (others.length === 1 && others[0] === '');
  const count = isPrefix ? Math.max(1, start.trim().split(/\s+/).length) : Infinity;
  return parts.some((words) => {
    const [program = '', ...rest] = words.map(({ text }) => text);
    const name = program.slice(program.lastIndexOf('/') + 1);
    if (words.slice(0, count).some(({ isPlain }) => !isPlain)) return true;
    if (name === 'sed')
      return rest.some((word) => /^-\w*f|^--file/.test(word) || runsInSed.test(word));
    if (name === 'git' && rest.some((word) => definesAlias.test(word))) return true;
    return isLauncher([program, ...rest]) || hidingPrograms.test(name);
  });
}

/** Matches syntax after which a new command can start. Quotes are removed before. */
const separators = /[;&|(){}`!\n<>]+/;
/** Matches a redirection with its target, such as `2>&1` and `> file`. */
const redirections = /(?:\b\d+|&)?(?:>[>|&]?|<[<>&]?<?)\s*[^\s;&|()<>]+/g;
/** Matches words in front of a command that belong to it: assignments, and keywords of the shell. */
const prefixes = /^(?:[A-Za-z_]\w*\+?=\S*|if|then|elif|else|while|until|do|coproc) /;
/** Matches a command whose program is unknown: a variable, a wildcard, or a shell that reads its input. */
const unknownCommand = /^\S*[$*?[]|^(?:ba|z|da|k|fi)?sh$/;
/** Matches programs that start the program of one of their next words. */
const launchers =
  /^(?:\S*\/)?(?:time|flock|taskset|chrt|trap|chroot|unshare|nsenter|setarch|numactl|strace|ltrace|systemd-run|runuser|pkexec|fakeroot|firejail|bwrap|npx|env|exec|command|builtin|eval|sudo|doas|su|nohup|nice|ionice|setsid|stdbuf|timeout|xargs|find|parallel|watch|busybox|script|(?:ba|z|da|k|fi)?sh)(?: |$)/;

/**
 * Returns every part of the line that may be a command, with single spaces and without quotes. A
 * different spelling of a command must not avoid a guard, so the list may also contain parts that
 * are not commands.
 */
function commandStarts(line: string): readonly string[] {
  // A line break after a backslash joins two lines.
  const plain = line.replace(/\\\n/g, '').replace(/["'\\]/g, '');
  // A redirection can stand before or inside of a command, and `{rm,a}` becomes `rm a`.
  const redirected = plain.replace(redirections, ' ');
  const lines = new Set([plain, redirected, redirected.replaceAll(',', ' ')]);
  const parts = [...lines].flatMap((one) => one.split(separators));
  return parts.flatMap((part) => {
    let rest = `${part.trim().replace(/\s+/g, ' ')} `;
    const starts = [rest];
    for (let next = rest.replace(prefixes, ''); next !== rest; next = rest.replace(prefixes, '')) {
      rest = next;
      starts.push(rest);
    }
    const words = rest.split(' ');
    const count = launchers.test(rest) ? words.length : 1;
    starts.push(...words.slice(0, count).map((_, index) => words.slice(index).join(' ')));
    // `/bin/rm` is the command `rm`.
    return starts.flatMap((start) => [start.trim(), start.trim().replace(/^\S*\//, '')]);
  });
}

function escaped(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
}
