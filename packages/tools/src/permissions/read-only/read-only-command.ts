import type { Word } from '../split-command.ts';
import { type ParsedOptions, parseOptions } from './parse-options.ts';
import {
  type ReadOnlyProgram,
  readOnlyGitCommands,
  readOnlyPrograms,
} from './read-only-programs.ts';

/** A command that only reads, and the paths that it reads. */
export interface ReadOnlyCommand {
  readonly program: string;
  readonly paths: readonly ReadPath[];
  /** Git also depends on the configuration of the repository, which needs another check. */
  readonly isGit: boolean;
}

export interface ReadPath {
  readonly path: string;
  /** `search` includes everything below the path. */
  readonly kind: 'read' | 'search';
}

/**
 * Recognizes a command that only reads: a known program without a path, with known options. Returns
 * undefined for all other commands.
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

/**
 * The caller must check that the path is the current folder, because the commands after it are
 * checked relative to the root.
 */
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

/**
 * Options before the subcommand, such as -c, -C, --git-dir and --exec-path, apply to git itself.
 * None is accepted.
 */
function gitPaths([name = '', ...rest]: readonly string[]): readonly ReadPath[] | undefined {
  const known = readOnlyGitCommands.get(name);
  // `%G` makes git start another program to check a signature.
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

/** Accepts only `sed -n` with line numbers, because sed can write files and run programs. */
function sedPaths([option, script = '', ...paths]: readonly string[]):
  | readonly ReadPath[]
  | undefined {
  const isKnown = option === '-n' && /^\d+(?:,(?:\d+|\$))?p$/.test(script);
  if (!isKnown || paths.some((path) => path.startsWith('-'))) return undefined;
  return paths.map((path) => ({ path, kind: 'read' }));
}
