import type { ShownLine } from './context-window.ts';
import type { SearchPattern } from './search-pattern.ts';
import type { WalkReport } from './walk-files.ts';

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
export interface Found {
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
  | { readonly type: 'found'; readonly found: readonly Found[] }
  | { readonly type: 'done'; readonly report: SearchReport }
  | { readonly type: 'failed'; readonly message: string };
