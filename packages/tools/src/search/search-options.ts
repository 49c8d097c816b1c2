import { type Clock, systemClock } from '@millrace/agent';
import { assertKnownOptions } from '../known-options.ts';
import type { PermissionPolicy } from '../permissions/permission-policy.ts';
import { displayOnOneLine } from '../workspace/resolve-path.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { SearchReport, SearchResult } from './search-request.ts';

/** Options of `grepTool` and `globTool`. */
export interface SearchToolOptions {
  /** The workspace to search. */
  readonly workspace: Pick<Workspace, 'root' | 'resolve' | 'open'>;
  /**
   * Globs of paths that the search skips. They match in the same way as rules that deny. See
   * `PermissionPolicy.deniedPaths`. Default: none.
   */
  readonly exclude?: readonly string[] | undefined;
  /**
   * The policies whose rules apply to the paths below the searched folder. The search skips denied paths. `grep`
   * also skips the files for which a rule asks, and reports their number, unless the rule covers `path` itself.
   * Relative paths of rules start at the root of the policy. Default: none.
   */
  readonly policies?:
    | readonly Pick<PermissionPolicy, 'root' | 'deniedPaths' | 'askedPaths'>[]
    | undefined;
  /**
   * True if `grep` also reads files whose names look like secrets, such as `.env` and `*.pem`. If false, it
   * skips them and reports their number, unless `path` is such a file. Default: false.
   */
  readonly searchSecrets?: boolean | undefined;
  /** Maximum duration of a search. Then the search returns the matches found so far. Default: 30 s. */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of files and folders that one search visits. Default: 200,000. */
  readonly maxEntries?: number | undefined;
  /** Maximum length of the output in characters. Default: 30,000. */
  readonly maxOutputLength?: number | undefined;
  /** The clock for time limits. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** The options with all defaults filled in. */
export type SearchSettings = {
  readonly [Key in keyof SearchToolOptions]-?: NonNullable<SearchToolOptions[Key]>;
} & {
  /**
   * Maximum length of the matches, in characters. The rest of the output is reserved for notes to the model.
   */
  readonly maxFoundLength: number;
};

/** The input that a model sends. Everything except the pattern is optional. */
export type SearchToolInput<Input extends { readonly pattern: string }> = Pick<Input, 'pattern'> & {
  readonly [Key in Exclude<keyof Input, 'pattern'>]?: Input[Key] | undefined;
};

/**
 * The part of the output that is reserved for notes to the model, in characters. It has space for one path of
 * maximum length and a few notes.
 */
const reservedForNotes = 5000;

export function searchSettings(options: SearchToolOptions): SearchSettings {
  assertKnownOptions('a search tool', options, {
    ...{ workspace: true, exclude: true, policies: true, searchSecrets: true, timeoutMs: true },
    ...{ maxEntries: true, maxOutputLength: true, clock: true },
  });
  const { maxOutputLength = 30_000 } = options;
  return {
    workspace: options.workspace,
    exclude: options.exclude ?? [],
    policies: options.policies ?? [],
    searchSecrets: options.searchSecrets ?? false,
    timeoutMs: options.timeoutMs ?? 30_000,
    maxEntries: options.maxEntries ?? 200_000,
    maxOutputLength,
    maxFoundLength: Math.max(maxOutputLength - reservedForNotes, Math.ceil(maxOutputLength / 2)),
    clock: options.clock ?? systemClock,
  };
}

/** Returns notes about an incomplete result. The list is empty if the result is complete. */
export function searchNotes(
  { found, report, lastPath }: SearchResult,
  timeoutMs: number,
): readonly string[] {
  if (report === undefined) return [stuckNote(lastPath, timeoutMs)];
  const { binary, clipped, unreadable, secrets, asked } = report;
  return [
    cutNote(report, timeoutMs),
    // The notes mention binary files only if the search found nothing, because some folders always contain
    // binary files.
    binary > 0 && found.length === 0 ? `Binary files are left out: ${binary}.` : undefined,
    clipped > 0
      ? `Files with lines of more than a megabyte, of which only the beginning was searched: ${clipped}.`
      : undefined,
    secrets > 0
      ? `Files that look like secrets, such as .env and private keys, are left out: ${secrets}. Set path to one of them to search it.`
      : undefined,
    asked > 0
      ? `Files that need an approval by a rule are left out: ${asked}. Set path to one of them to ask for it.`
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
      return `Only the first ${entries} files and folders were searched. Narrow it down by path.`;
    case 'depth':
      return 'Folders that are too deep were not searched. Set path to one of them.';
    case 'stopped':
      return `Time was up after ${timeoutMs} ms, and there may be more. Narrow it down by path or glob.`;
  }
}

function stuckNote(lastPath: string, timeoutMs: number): string {
  const where = lastPath === '' ? '' : ` in ${displayOnOneLine(lastPath)}`;
  return `The search was stuck${where} and was ended after ${timeoutMs} ms: the pattern may need very long on some lines. Make it simpler, or narrow it down by path or glob.`;
}
