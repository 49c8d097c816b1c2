import type { ToolOutput } from '@millrace/agent';
import { showPath } from '../workspace/show-path.ts';
import type { SearchResult } from './run-search.ts';
import { searchNotes } from './search-notes.ts';
import type { SearchSettings } from './search-options.ts';

/** The paths, one a line, as many as there is room for. */
export function describeGlob(
  result: SearchResult,
  { timeoutMs, maxFoundLength }: SearchSettings,
): ToolOutput {
  const { found, report } = result;
  const { text: paths, count } = joined(
    found.map(({ path }) => showPath(path)),
    maxFoundLength,
  );
  const total = report?.total ?? found.length;
  const isComplete = report !== undefined && report.cut === undefined && count === total;
  const rest = count < total ? [`${count} of ${total} files are shown.`] : [];
  const nothing = isComplete ? 'No file fits.' : 'Nothing found so far.';
  const text = [paths || nothing, ...rest, ...searchNotes(result, timeoutMs)].join('\n\n');
  return { output: { text, value: { files: total, isComplete }, isError: report === undefined } };
}

function joined(lines: readonly string[], maxLength: number) {
  let length = 0;
  const fitting = lines.filter((line) => {
    length += line.length + 1;
    return length <= maxLength;
  });
  return { text: fitting.join('\n'), count: fitting.length };
}
