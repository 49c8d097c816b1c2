import { type Clock, systemClock } from '@millrace/agent';
import { displayOnOneLine } from '../workspace/resolve-path.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { SearchReport, SearchResult } from './search-request.ts';

export interface SearchToolOptions {
  readonly workspace: Pick<Workspace, 'root' | 'resolve' | 'open'>;
  /** What does not exist for a search: globs as in a rule that denies. See `PermissionPolicy.deniedPaths`. */
  readonly exclude?: readonly string[] | undefined;
  /** Then a search ends with what it has found. 30 s unless told. */
  readonly timeoutMs?: number | undefined;
  /** Files and folders that one search looks at. 200,000 unless told. */
  readonly maxEntries?: number | undefined;
  /** In characters. 30,000 unless told. */
  readonly maxOutputLength?: number | undefined;
  readonly clock?: Clock | undefined;
}

export type SearchSettings = {
  readonly [Key in keyof SearchToolOptions]-?: NonNullable<SearchToolOptions[Key]>;
} & {
  /** Of what is found, which leaves room for what is said about it. */
  readonly maxFoundLength: number;
};

/** As a model gives it: all but the pattern may be left out. */
export type SearchToolInput<Input extends { readonly pattern: string }> = Pick<Input, 'pattern'> & {
  readonly [Key in Exclude<keyof Input, 'pattern'>]?: Input[Key] | undefined;
};

/** What a path at its longest and a few notes need. */
const reservedForNotes = 5000;

export function searchSettings(options: SearchToolOptions): SearchSettings {
  const { maxOutputLength = 30_000 } = options;
  return {
    workspace: options.workspace,
    exclude: options.exclude ?? [],
    timeoutMs: options.timeoutMs ?? 30_000,
    maxEntries: options.maxEntries ?? 200_000,
    maxOutputLength,
    maxFoundLength: Math.max(maxOutputLength - reservedForNotes, Math.ceil(maxOutputLength / 2)),
    clock: options.clock ?? systemClock,
  };
}

/** What a reader has to know about how complete a result is: nothing where it is. */
export function searchNotes(
  { found, report, lastPath }: SearchResult,
  timeoutMs: number,
): readonly string[] {
  if (report === undefined) return [stuckNote(lastPath, timeoutMs)];
  const { binary, clipped, unreadable } = report;
  return [
    cutNote(report, timeoutMs),
    // In a folder of pictures nobody asks about each time.
    binary > 0 && found.length === 0 ? `Binary files are left out: ${binary}.` : undefined,
    clipped > 0
      ? `Files where only the beginning of lines of more than a megabyte was looked at: ${clipped}.`
      : undefined,
    unreadable > 0 ? `Files and folders that cannot be read: ${unreadable}.` : undefined,
  ].filter((note) => note !== undefined);
}

function cutNote({ cut, entries }: SearchReport, timeoutMs: number): string | undefined {
  switch (cut) {
    case undefined:
      return undefined;
    case 'limit':
      return 'The limit is reached, and there may be more. Narrow it down by path or glob, or raise limit.';
    case 'length':
      return 'The result is full, and there may be more. Narrow it down by path or glob.';
    case 'entries':
      return `Only the first ${entries} files and folders were looked at. Narrow it down by path.`;
    case 'depth':
      return 'Folders that are too deep were not looked at. Name one as path.';
    case 'stopped':
      return `Time was up after ${timeoutMs} ms, and there may be more. Narrow it down by path or glob.`;
  }
}

function stuckNote(lastPath: string, timeoutMs: number): string {
  const where = lastPath === '' ? '' : ` in ${displayOnOneLine(lastPath)}`;
  return `The search was stuck${where} and was ended after ${timeoutMs} ms: the pattern may need very long on some lines. Make it simpler, or narrow it down by path or glob.`;
}
