import type { GitUse } from '../../git/repository-risk.ts';
import type { Word } from '../split-command.ts';
import { type ParsedOptions, parseOptions } from './parse-options.ts';
import {
  type ReadOnlyProgram,
  readOnlyGitCommands,
  readOnlyPrograms,
} from './read-only-programs.ts';

/** A command that only reads, with the paths that it reads. */
export interface ReadOnlyCommand {
  readonly program: string;
  readonly paths: readonly ReadPath[];
  /**
   * True if the command is git. Git also depends on the configuration of the repository, which needs a
   * separate check.
   */
  readonly isGit: boolean;
  /**
   * True if the program may be inside the workspace, for example a test runner or a compiler. Default: false.
   */
  readonly mayBeInside?: boolean | undefined;
  /**
   * True if only the place of the program must be checked, because a rule allows the program with any options.
   * Default: false.
   */
  readonly isByRule?: boolean | undefined;
  /** The kind of a git command that does more than read. Default: `reads`. */
  readonly gitUse?: GitUse | undefined;
  /** A word that must be the name of a remote in the repository. Default: none. */
  readonly remote?: string | undefined;
}

export interface ReadPath {
  readonly path: string;
  /** The way in which the command reads the path. `search` includes everything below the path. */
  readonly kind: 'read' | 'search';
  /** True if the command shows only names, sizes and dates, and no content. Default: false. */
  readonly isNamesOnly?: boolean | undefined;
  /** True if the command can show older content of everything below the path. Default: false. */
  readonly isHistory?: boolean | undefined;
  /** True if the path must be a file, because the program would read more from a folder. Default: false. */
  readonly mustBeFile?: boolean | undefined;
  /** True if the shell may replace the last name by each matching name of its folder. Default: false. */
  readonly hasWildcard?: boolean | undefined;
  /**
   * True if nothing may exist at the path. The word is an option, but some systems read it as a path. Default:
   * false.
   */
  readonly mustBeAbsent?: boolean | undefined;
  /**
   * True if a search omits names that start with a dot, unless an ignore file includes them. Default: false.
   */
  readonly skipsHidden?: boolean | undefined;
}

/**
 * Parses a command that only reads: a known program, given by its name and not by a path, with known options.
 * Returns undefined for all other commands.
 */
export function parseReadOnlyCommand(words: readonly Word[]): ReadOnlyCommand | undefined {
  if (!words.every(({ isPlain }) => isPlain)) return undefined;
  const [program = '', ...rest] = words.map(({ text }) => text);
  const looks = (paths: readonly ReadPath[] | undefined) =>
    paths && { program, paths, isGit: program === 'git' };
  switch (program) {
    case 'cd':
      return rest.length === 1 ? changeFolder(rest[0]) : undefined;
    case 'find':
      return looks(findPaths(rest));
    case 'sed':
      return looks(sedPaths(rest));
    case 'date':
      return rest.every((word) => word.startsWith('+')) ? looks([]) : undefined;
    case 'git':
      return looks(gitPaths(rest));
    default: {
      const known = readOnlyPrograms.get(program);
      return known && looks(pathsOfProgram(rest, known));
    }
  }
}

/** True if a program with this name can read without a question, with known options. */
export function isKnownProgram(name: string): boolean {
  return ['find', 'sed', 'date'].includes(name) || readOnlyPrograms.has(name);
}

/**
 * Parses the path of `cd`. The caller must check that the path is the current folder, because later commands
 * are checked relative to the root. It refuses all other relative paths, because they depend on the variable
 * CDPATH.
 */
function changeFolder(path = ''): ReadOnlyCommand | undefined {
  if (!/^(?:\/|\.\.?(?:\/|$))/.test(path)) return undefined;
  return { program: 'cd', paths: [{ path, kind: 'read', isNamesOnly: true }], isGit: false };
}

function pathsOfProgram(
  words: readonly string[],
  program: ReadOnlyProgram,
): readonly ReadPath[] | undefined {
  const given = parseOptions(words, program);
  if (given === undefined) return undefined;
  const { operands } = program;
  if (operands === 'text') return [];
  if (operands === 'none') return given.operands.length === 0 ? [] : undefined;
  const isByOption = program.patternOptions?.some((name) => given.options.has(name)) ?? false;
  const isPattern = operands === 'pattern' && !isByOption;
  if (isPattern && given.operands.length === 0) return undefined;
  return withKind(isPattern ? given.operands.slice(1) : given.operands, program, given);
}

function withKind(
  operands: readonly string[],
  { recursiveOptions = [], defaultPath, shows = 'content', ...program }: ReadOnlyProgram,
  { options, late }: ParsedOptions,
): readonly ReadPath[] {
  const hasAny = (names: readonly string[]) => names.some((name) => options.has(name));
  const isSearch = recursiveOptions === 'always' || hasAny(recursiveOptions);
  const { unhidingOptions } = program;
  const about = {
    kind: isSearch ? 'search' : 'read',
    isNamesOnly: shows === 'names' || (shows !== 'content' && hasAny(shows)),
    mustBeFile: program.operands === 'files',
    skipsHidden: unhidingOptions !== undefined && !hasAny(unhidingOptions),
  } as const;
  const paths = operands.length === 0 && defaultPath !== undefined ? [defaultPath] : operands;
  return [
    ...paths.map((path) => ({ path, ...about })),
    ...late.map((path) => ({ path, ...about, mustBeAbsent: true })),
  ];
}

/**
 * Matches the parts of a format that make git start a program that checks a signature, such as `%G?`, `%+GG` and
 * `%(signature:grade)`.
 */
const checksSignature = /%[-+ ]*G|%\(\*?signature/;

/**
 * Returns the paths that a git command reads. It refuses options before the subcommand, such as -c, -C,
 * --git-dir and --exec-path, because they apply to git itself.
 */
function gitPaths([name = '', ...rest]: readonly string[]): readonly ReadPath[] | undefined {
  const known = readOnlyGitCommands.get(name);
  if (known === undefined || rest.some((word) => checksSignature.test(word))) return undefined;
  // An option of git can take `--` as its value. The words after it could then be options.
  const end = rest.indexOf('--');
  if (end !== -1 && rest.slice(end + 1).some((word) => word.startsWith('-'))) return undefined;
  // Git accepts options after operands on all systems.
  const paths = pathsOfProgram(rest, known)?.filter(({ mustBeAbsent }) => !mustBeAbsent);
  const { showsHistory = false, shows = 'content' } = known;
  const all = { path: '.', kind: 'search', isNamesOnly: true, isHistory: true } as const;
  // A commit can show all paths, even if the command has a path argument. The whole root is therefore checked
  // for denied paths. Secrets need an approval only if the command contains their path, because commits are
  // shared anyway.
  if (paths === undefined || !showsHistory) return paths;
  // The value of -L contains a file, as in `-L1,5:src/a.ts`.
  const ranges = parseOptions(rest, known)?.values.filter((one) => one.name === 'L') ?? [];
  const inRanges = ranges.flatMap(({ value }) => pathsInOperand(value, false).slice(1));
  return [
    ...[all, ...inRanges],
    ...paths.flatMap((one) => pathsInOperand(one.path, shows === 'names')),
  ];
}

/**
 * Returns the paths in an operand of git. An operand can be a path, a commit, or a path in a commit such
 * as `HEAD:src/a.ts`.
 */
function pathsInOperand(operand: string, isNamesOnly: boolean): readonly ReadPath[] {
  // `HEAD:a` and `:0:a` are paths in a commit or in the index.
  const colons = [...operand.matchAll(/:/g)].map(({ index }) => operand.slice(index + 1) || '.');
  // In `:(top)a` and `:/a`, git interprets the prefix of the path.
  const plain = colons.map((path) => path.replace(/^(?:\([^)]*\)|[!/^]+)/, '') || '.');
  return [...new Set([operand, ...colons, ...plain])].map((path) => {
    return { path, kind: 'read', isNamesOnly };
  });
}

const findTests: ReadonlySet<string> = new Set(
  '-name -iname -path -ipath -type -maxdepth -mindepth -size -mtime -mmin'.split(' '),
);
const findWords: ReadonlySet<string> = new Set(
  '-print -print0 -not -o -a -empty -prune'.split(' '),
);

function findPaths(words: readonly string[]): readonly ReadPath[] | undefined {
  const first = words.findIndex((word) => word.startsWith('-'));
  const paths = first === -1 ? words : words.slice(0, first);
  for (let at = paths.length; at < words.length; at++) {
    const word = words[at] ?? '';
    if (findTests.has(word)) at++;
    else if (!findWords.has(word)) return undefined;
  }
  // The expression of find starts at such a word, and find then searches the current folder.
  if (paths.some((path) => /^[!(),]/.test(path))) return undefined;
  return (paths.length === 0 ? ['.'] : paths).map((path) => {
    return { path, kind: 'search', isNamesOnly: true };
  });
}

/**
 * Returns the paths that sed reads. Only `sed -n` with line numbers is accepted, because sed can write
 * files and run programs.
 */
function sedPaths([option, script = '', ...paths]: readonly string[]):
  | readonly ReadPath[]
  | undefined {
  const isKnown = option === '-n' && /^\d+(?:,(?:\d+|\$))?p$/.test(script);
  if (!isKnown || paths.some((path) => path.startsWith('-'))) return undefined;
  return paths.map((path) => ({ path, kind: 'read' }));
}
