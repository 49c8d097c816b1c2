import type { Word } from '../split-command.ts';
import { type ParsedOptions, parseOptions } from './parse-options.ts';
import {
  type ReadOnlyProgram,
  readOnlyGitCommands,
  readOnlyPrograms,
} from './read-only-programs.ts';

/** What a command that only looks looks at. */
export interface ReadOnlyCommand {
  readonly program: string;
  readonly paths: readonly ReadPath[];
  /** What git does is up to the configuration of the repository too. */
  readonly isGit: boolean;
}

export interface ReadPath {
  readonly path: string;
  /** `search`: all that is below it, too. */
  readonly kind: 'read' | 'search';
}

/**
 * What a command looks at, if all that it does is to look: a program that is known, by its bare name,
 * with options that are known. Of everything else nothing is said.
 */
export function parseReadOnlyCommand(words: readonly Word[]): ReadOnlyCommand | undefined {
  if (!words.every(({ isPlain }) => isPlain)) return undefined;
  const [program = '', ...rest] = words.map(({ text }) => text);
  const looks = (paths: readonly ReadPath[] | undefined) =>
    paths && { program, paths, isGit: program === 'git' };
  switch (program) {
    case 'cd':
      return rest.length === 1 && rest[0] !== '-' ? changeFolder(rest[0]) : undefined;
    case 'find':
      return looks(findPaths(rest));
    case 'sed':
      return looks(sedPaths(rest));
    case 'date':
      return rest.every((word) => word.startsWith('+')) ? looks([]) : undefined;
    case 'git':
      return looks(gitPaths(rest));
    default: {
      if (versionPrograms.has(program) && rest.length === 1 && rest[0] === '--version')
        return looks([]);
      const known = readOnlyPrograms.get(program);
      return known && looks(pathsOfProgram(rest, known));
    }
  }
}

const versionPrograms: ReadonlySet<string> = new Set(
  'node npm pnpm yarn python python3 go cargo rustc ruby java deno bun'.split(' '),
);

/** Whoever decides on it has to see that it stays defaultPath it is: what follows is taken to be there. */
function changeFolder(path = ''): ReadOnlyCommand {
  return { program: 'cd', paths: [{ path, kind: 'read' }], isGit: false };
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
  { recursiveOptions = [], defaultPath }: ReadOnlyProgram,
  { options }: ParsedOptions,
): readonly ReadPath[] {
  const isSearch =
    recursiveOptions === 'always' || recursiveOptions.some((name) => options.has(name));
  const kind = isSearch ? 'search' : 'read';
  const paths = operands.length === 0 && defaultPath !== undefined ? [defaultPath] : operands;
  return paths.map((path) => ({ path, kind }));
}

/** Options before the command are for all of git: -c, -C, --git-dir, --exec-path. None of them is taken. */
function gitPaths([name = '', ...rest]: readonly string[]): readonly ReadPath[] | undefined {
  const known = readOnlyGitCommands.get(name);
  // A signature is looked at by another program.
  if (known === undefined || rest.some((word) => word.includes('%G'))) return undefined;
  return pathsOfProgram(rest, known);
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
  return (paths.length === 0 ? ['.'] : paths).map((path) => ({ path, kind: 'search' }));
}

/** Lines by their numbers and nothing else: sed can write files and run programs. */
function sedPaths([option, script = '', ...paths]: readonly string[]):
  | readonly ReadPath[]
  | undefined {
  const isKnown = option === '-n' && /^\d+(?:,(?:\d+|\$))?p$/.test(script);
  if (!isKnown || paths.some((path) => path.startsWith('-'))) return undefined;
  return paths.map((path) => ({ path, kind: 'read' }));
}
