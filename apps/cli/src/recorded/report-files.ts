import type { RecordingResult, TestReport } from '@millrace/agent/testing';
import { oneLine } from '../text/cells/printable.ts';
import { exampleDiff, summaryText } from './report-text.ts';

/** Returns a report for programs. It has no records and no complete requests. */
export function jsonReport({ mode, results, groups, same, changed, failed }: TestReport): string {
  const shown = results.map(({ accepted: _accepted, live, ...result }) => {
    if (live === undefined) return result;
    const { records: _records, diff, ...outcome } = live;
    return { ...result, live: { ...outcome, divergence: diff.divergence } };
  });
  const report = { mode, same, changed, failed, groups, results: shown };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

/** Returns a report in the format of JUnit. Each recording is a test case. */
export function junitReport({ results }: TestReport): string {
  const cases = results.map((result): JunitCase => {
    const { name, status } = result;
    if (status === 'same') return { group: 'millrace', name };
    const kind = status === 'failed' ? 'error' : 'failure';
    return { group: 'millrace', name, problem: { kind, lines: problemsOf(result) } };
  });
  return junitDocument('millrace test', cases);
}

/** A test case of a JUnit report. */
export interface JunitCase {
  readonly group: string;
  readonly name: string;
  /** Absent if the case passed. */
  readonly problem?: { readonly kind: 'failure' | 'error'; readonly lines: readonly string[] };
}

/** Returns a document in the format of JUnit. */
export function junitDocument(suite: string, cases: readonly JunitCase[]): string {
  const count = (kind: string) => cases.filter(({ problem }) => problem?.kind === kind).length;
  const counts = `tests="${cases.length}" failures="${count('failure')}" errors="${count('error')}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${xml(suite)}" ${counts}>`,
    ...cases.map(({ group, name, problem }) => {
      const head = `    <testcase classname="${xml(group)}" name="${xml(name)}"`;
      if (problem === undefined) return `${head}/>`;
      const { kind, lines } = problem;
      const [first = ''] = lines;
      const text = xml(lines.join('\n'));
      return `${head}>\n      <${kind} message="${xml(first)}">${text}</${kind}>\n    </testcase>`;
    }),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function problemsOf({ changes, error }: RecordingResult): readonly string[] {
  if (error !== undefined) return [error];
  return changes.map(({ turn, cause, message }) => `turn ${turn}, ${cause}: ${message}`);
}

/** Escapes a text for XML and HTML. Characters that XML forbids are replaced. */
export function xml(text: string): string {
  const names: Readonly<Record<string, string>> = {
    ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
  };
  return text
    .toWellFormed()
    .replaceAll(/[&<>"']/g, (character) => names[character] ?? '')
    .replaceAll(forbidden, '\ufffd');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML forbids these characters
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

const maxGroups = 20;

/** Returns a summary in Markdown, for the comment of a pull request. */
export function markdownReport(report: TestReport): string {
  const { groups } = report;
  const rows = groups
    .slice(0, maxGroups)
    .map(
      ({ cause, message, recordings, count }) =>
        `| ${cell(cause)} | ${cell(message)} | ${recordings.length} | ${count} |`,
    );
  const table = ['| cause | change | recordings | requests |', '|---|---|---|---|', ...rows];
  const details = groups.slice(0, maxGroups).flatMap((group) => {
    const diff = exampleDiff(group);
    const { message, example } = group;
    if (diff === '') return [];
    const place = `turn ${example.turn} of ${oneLine(example.recording, 200)}`;
    // An empty line would end the block of HTML, and Markdown would follow.
    const title = xml(`${oneLine(message, 300)}, ${place}`);
    return ['', `<details><summary>${title}</summary>`, '', ...fenced(diff), '', '</details>'];
  });
  const hidden = groups.length - maxGroups;
  return [
    '### Recorded sessions',
    '',
    summaryText(report),
    ...(groups.length === 0 ? [] : ['', ...table]),
    ...(hidden > 0 ? ['', `${hidden} more groups of changes are not listed.`] : []),
    ...details,
    '',
  ].join('\n');
}

const maxDiffLength = 4000;

/** A fence that is longer than all fences in the text, so that the text cannot end it. */
function fenced(text: string): readonly string[] {
  const longest = [...text.matchAll(/`+/g)].reduce((most, [run]) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return [`${fence}diff`, text.slice(0, maxDiffLength).trimEnd(), fence];
}

/** Escapes a text for a cell of a Markdown table. */
export function cell(text: string): string {
  return xml(text).replaceAll(/[|\r\n\\`*_[\]]/g, (character) =>
    /[\r\n]/.test(character) ? ' ' : `\\${character}`,
  );
}
