import type { ToolOutput } from '@millrace/agent';
import { showPath } from '../workspace/show-path.ts';
import type { ShownLine } from './context-window.ts';
import type { SearchResult } from './run-search.ts';
import { searchNotes } from './search-notes.ts';
import type { SearchSettings } from './search-options.ts';
import type { Found, GrepWork } from './search-request.ts';

/** What was found, as a model reads it, and how complete that is. */
export function describeGrep(
  mode: GrepWork['mode'],
  result: SearchResult,
  { timeoutMs }: SearchSettings,
): ToolOutput {
  const { found, report } = result;
  const shown = found.map((one) => describe(one, mode)).join(mode === 'content' ? '\n\n' : '\n');
  const notes = searchNotes(result, timeoutMs);
  const isComplete = report?.cut === undefined && report?.clipped === 0;
  const nothing = isComplete ? 'Nothing matches.' : 'Nothing found so far.';
  const text = [shown || nothing, ...notes].join('\n\n');
  const matches = found.reduce((sum, one) => sum + one.matches, 0);
  const value = { files: found.length, matches, isComplete };
  return { output: { text, value, isError: report === undefined && found.length === 0 } };
}

function describe({ path, matches, lines }: Found, mode: GrepWork['mode']): string {
  switch (mode) {
    case 'files':
      return showPath(path);
    case 'count':
      return `${showPath(path)}:${matches}`;
    case 'content':
      return [showPath(path), ...lines.flatMap((line, at) => rowsOf(line, lines[at - 1]))].join(
        '\n',
      );
  }
}

/** `12:` where it matches, `12-` around it, and `--` before it where lines are left out. */
function rowsOf(line: ShownLine, before: ShownLine | undefined): readonly string[] {
  const row = `${line.number}${line.isMatch ? ':' : '-'}${line.text}`;
  return before !== undefined && before.number + 1 < line.number ? ['--', row] : [row];
}
