import { type ChangeGroup, changedLines, type TestReport } from '@millrace/agent/testing';
import { unifiedDiff } from '@millrace/tools';
import { countOf } from '../print/text-table.ts';
import { oneLine } from '../text/cells/printable.ts';
import { diffToAnsi } from '../text/diff/diff-to-ansi.ts';
import { TerminalText } from '../text/terminal/terminal-gate.ts';
import type { Theme } from '../text/theme/theme.ts';

interface TextOptions {
  readonly theme: Theme;
  /** The width of the terminal. Default: unlimited. */
  readonly columns: number | undefined;
  /** The names of the recordings that were written again. */
  readonly accepted: ReadonlySet<string>;
}

const maxNames = 5;
const maxGroups = 50;
const maxDiffLines = 20;
const fileWidth = 100;
/** Maximum number of lines of a diff in a file. */
const maxFileLines = 200;

/** Formats a report for the terminal: the changes by cause, then the results. Each entry is a line. */
export function textReport(report: TestReport, options: TextOptions): readonly TerminalText[] {
  const { results, groups } = report;
  const failed = results.filter(({ status }) => status === 'failed');
  const hidden = groups.length - maxGroups;
  return [
    ...groups.slice(0, maxGroups).flatMap((group) => groupLines(group, options)),
    ...(hidden > 0 ? [lineOf(`… ${countOf(hidden, 'more group')} of changes`), lineOf('')] : []),
    ...failed.map(({ name, error = '' }) => lineOf(`Failed: ${oneLine(`${name}: ${error}`, 500)}`)),
    ...results.flatMap(({ name, live }) => {
      if (live === undefined) return [];
      const { fromTurn, stop, error, recordedCalls, unknownCalls, ranTools, diff } = live;
      const ran = ranTools.length === 0 ? '' : `, ran ${ranTools.join(', ')}`;
      const calls = `${recordedCalls} recorded and ${unknownCalls} unknown calls${ran}`;
      const why = error === undefined ? '' : `: ${oneLine(error, 500)}`;
      const turns = `${diff.b.turns} instead of ${diff.a.turns} turns`;
      return [
        lineOf(
          `Live ${oneLine(name, 100)}: from turn ${fromTurn}, ${turns}, ${calls}, ended with ${stop}${why}`,
        ),
      ];
    }),
    lineOf(summaryText(report, options.accepted)),
  ];
}

/** Returns one line with the counts. */
export function summaryText(
  { results, same, changed, failed }: TestReport,
  accepted: ReadonlySet<string> = new Set(),
): string {
  const requests = results.reduce((sum, { comparedRequests }) => sum + comparedRequests, 0);
  const counts = [
    `${same} same`,
    `${changed} changed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
  ];
  const note = accepted.size > 0 ? `, ${accepted.size} accepted` : '';
  return `${countOf(results.length, 'recording')}: ${counts.join(', ')}${note}. ${countOf(requests, 'request')} compared.`;
}

function groupLines(
  { cause, message, recordings, count, example }: ChangeGroup,
  { theme, columns }: TextOptions,
): readonly TerminalText[] {
  const names = recordings.slice(0, maxNames).join(', ');
  const more = recordings.length > maxNames ? ` and ${recordings.length - maxNames} more` : '';
  const diff = exampleDiff({ example });
  const width = columns || fileWidth;
  const painted =
    diff === ''
      ? ''
      : diffToAnsi(diff, { theme, width, maxLines: maxDiffLines, longLines: 'wrap' });
  const place = `first in turn ${example.turn} of ${oneLine(example.recording, 200)}`;
  return [
    lineOf(`${cause}: ${oneLine(message, 300)}`),
    lineOf(
      `  ${countOf(count, 'request')} in ${countOf(recordings.length, 'recording')}, ${place}`,
    ),
    lineOf(`  ${oneLine(`${names}${more}`, 300)}`),
    ...(painted === '' ? [] : [TerminalText.of(TerminalText.painted(painted), '\n')]),
    lineOf(''),
  ];
}

/** Returns the difference of the first place as a unified diff. */
export function exampleDiff({ example }: Pick<ChangeGroup, 'example'>): string {
  const [before, after] = changedLines(example.before, example.after);
  if (before === undefined && after === undefined) return '';
  return unifiedDiff(valueText(before), valueText(after), maxFileLines).text;
}

function valueText(value: unknown): string {
  if (value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
  return text === '' ? '' : `${text}\n`;
}

function lineOf(text: string): TerminalText {
  return TerminalText.of(text, '\n');
}
