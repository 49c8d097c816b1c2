import { showPath } from '../workspace/show-path.ts';
import type { SearchResult } from './run-search.ts';
import type { SearchReport } from './search-request.ts';

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
  const where = lastPath === '' ? '' : ` in ${showPath(lastPath)}`;
  return `The search was stuck${where} and was ended after ${timeoutMs} ms: the pattern may need very long on some lines. Make it simpler, or narrow it down by path or glob.`;
}
