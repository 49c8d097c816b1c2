import type { AskedPath } from '../permissions/read-only/asked-paths.ts';
import type { ShownLine } from './worker/grep-file.ts';
import type { WalkReport } from './worker/walk-files.ts';

/** The input of a search worker. All values can be sent to a different thread. */
export interface SearchRequest {
  /** The real path of the workspace. */
  readonly root: string;
  /** The path segments from the root to the searched folder or file. */
  readonly segments: readonly string[];
  /** A glob for the paths of the files, relative to the searched folder. */
  readonly glob: string | undefined;
  /** The paths to skip. */
  readonly rules: readonly SearchRules[];
  /** True if `grep` also reads files that look like secrets. */
  readonly searchSecrets: boolean;
  readonly maxEntries: number;
  readonly maxDepth: number;
  readonly work: GrepWork | GlobWork;
}

/** Paths to skip because of the rules of a policy. */
interface SearchRules {
  /** The folder at which relative globs start. */
  readonly root: string;
  /** Globs of paths to skip. They match in the same way as policy rules that deny. */
  readonly exclude: readonly string[];
  /** The rules that decide whether `grep` must ask about a file. */
  readonly asked: readonly AskedPath[];
}

export interface GrepWork {
  readonly kind: 'grep';
  readonly pattern: SearchPattern;
  readonly mode: 'content' | 'files' | 'count';
  readonly contextLines: number;
  /** Maximum number of lines in the mode `content`, and maximum number of files in the other modes. */
  readonly limit: number;
  /** Maximum length of all shown lines, in characters. */
  readonly maxLength: number;
}

export interface GlobWork {
  readonly kind: 'glob';
  readonly order: 'modified' | 'name';
  readonly limit: number;
}

/** A file with matches. The path is relative to the root. */
export interface FileMatch {
  readonly path: string;
  readonly matches: number;
  readonly lines: readonly ShownLine[];
}

export interface SearchReport extends Readonly<Omit<WalkReport, 'cut'>> {
  readonly binary: number;
  /** Number of files with lines that were searched only in part. */
  readonly clipped: number;
  /** The reason why the result may be incomplete. Undefined if the search was complete. */
  readonly cut: WalkReport['cut'] | 'limit' | 'length';
  /**
   * The number of files that match a glob, including files above the limit. For `grep`, it is the number of
   * matches.
   */
  readonly total: number;
}

export type WorkerMessage =
  | { readonly type: 'found'; readonly found: readonly FileMatch[] }
  | { readonly type: 'done'; readonly report: SearchReport }
  | { readonly type: 'failed'; readonly message: string };

/** A regular expression in a form that can be sent to a different thread. */
interface SearchPattern {
  readonly source: string;
  readonly flags: string;
}

interface PatternOptions {
  readonly isLiteral: boolean;
  readonly ignoresCase: boolean;
}

/**
 * Returns a pattern that can be sent to a different thread. Throws an error for the model if the regular
 * expression is invalid.
 */
export function searchPattern(
  pattern: string,
  { isLiteral, ignoresCase }: PatternOptions,
): SearchPattern {
  const flags = ignoresCase ? 'i' : '';
  if (isLiteral) return { source: pattern.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), flags };
  // Some regular expression engines accept leading flags such as `(?i)`, so models write them.
  const [head = '', named = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
  const all = [...new Set(flags + named)].join('');
  const source = pattern.slice(head.length);
  // Unicode mode is tried first, because without it `.` matches half an emoji. The second attempt is without
  // Unicode mode, because many patterns contain escapes that are invalid in Unicode mode.
  const kinds = [`${all}u`, all];
  const taken = kinds.find((kind) => regexProblem(source, kind) === undefined);
  if (taken === undefined) throw invalidPatternError(pattern, regexProblem(source, all));
  return { source, flags: taken };
}

function regexProblem(source: string, flags: string): string | undefined {
  try {
    new RegExp(source, flags);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function invalidPatternError(pattern: string, problem = ''): Error {
  // The engine's message repeats the pattern, which may be long. Only the part after the last `: ` is used.
  const why = problem.slice(problem.lastIndexOf(': ') + 2);
  const state = `it is not a valid JavaScript regular expression: ${why}`;
  const wayOut = 'Escape literal characters with a backslash, or set literal to true';
  return new Error(
    `Cannot search for ${JSON.stringify(pattern.slice(0, 200))}: ${state}. ${wayOut}`,
  );
}

export interface SearchResult {
  readonly found: readonly FileMatch[];
  /** The report. Undefined if the worker was terminated. */
  readonly report: SearchReport | undefined;
  /** The file that was searched last. */
  readonly lastPath: string;
}
