import type { ShownLine } from './worker/grep-file.ts';
import type { WalkReport } from './worker/walk-files.ts';

/** What a worker is to do. All of it can be sent to another thread. */
export interface SearchRequest {
  /** A real path. */
  readonly root: string;
  /** From the root on, to the folder or file that is searched. */
  readonly segments: readonly string[];
  /** Which files count, by their path below that folder. */
  readonly glob: string | undefined;
  /** What does not exist for the search, as the rules of a permission policy would deny it. */
  readonly exclude: readonly string[];
  readonly maxEntries: number;
  readonly maxDepth: number;
  readonly work: GrepWork | GlobWork;
}

export interface GrepWork {
  readonly kind: 'grep';
  readonly pattern: SearchPattern;
  readonly mode: 'content' | 'files' | 'count';
  readonly contextLines: number;
  /** Lines in `content`, files otherwise. */
  readonly limit: number;
  /** Of all that is shown, in characters. */
  readonly maxLength: number;
}

export interface GlobWork {
  readonly kind: 'glob';
  readonly order: 'modified' | 'name';
  readonly limit: number;
}

/** A file that was found, with what in it was asked for. Paths are from the root on. */
export interface FileMatch {
  readonly path: string;
  readonly matches: number;
  readonly lines: readonly ShownLine[];
}

export interface SearchReport extends Readonly<Omit<WalkReport, 'cut'>> {
  readonly binary: number;
  /** Files of whose lines not all was looked at. */
  readonly clipped: number;
  /** Why there may be more than was found. */
  readonly cut: WalkReport['cut'] | 'limit' | 'length';
  /** Of a glob: how many files fit, beyond the limit too. */
  readonly total: number;
}

export type WorkerMessage =
  | { readonly type: 'found'; readonly found: readonly FileMatch[] }
  | { readonly type: 'done'; readonly report: SearchReport }
  | { readonly type: 'failed'; readonly message: string };

/** What is looked for in a line. */
interface SearchPattern {
  readonly source: string;
  readonly flags: string;
}

interface PatternOptions {
  readonly isLiteral: boolean;
  readonly ignoresCase: boolean;
}

/** Throws, in words for a model, where it is not a regular expression. */
export function searchPattern(
  pattern: string,
  { isLiteral, ignoresCase }: PatternOptions,
): SearchPattern {
  const flags = ignoresCase ? 'i' : '';
  if (isLiteral) return { source: pattern.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), flags };
  // `(?i)` in front, as other engines have it.
  const [head = '', named = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
  const all = [...new Set(flags + named)].join('');
  const source = pattern.slice(head.length);
  // Unicode where it can be: without, `.` is half an emoji. Many patterns have escapes that only the old way takes.
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
  // The engine's message repeats the pattern, which may be long.
  const why = problem.slice(problem.lastIndexOf(': ') + 2);
  const state = `it is not a regular expression of JavaScript: ${why}`;
  const wayOut = 'Escape what is meant as it stands with a backslash, or set literal to true';
  return new Error(
    `Cannot search for ${JSON.stringify(pattern.slice(0, 200))}: ${state}. ${wayOut}`,
  );
}

export interface SearchResult {
  readonly found: readonly FileMatch[];
  /** Nothing where the thread had to be ended by force. */
  readonly report: SearchReport | undefined;
  /** The file that was looked at last. */
  readonly lastPath: string;
}
