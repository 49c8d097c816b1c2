import type {
  ExperimentReport,
  Gate,
  GateFailure,
  Interval,
  RunReport,
  ScoreSummary,
  VariantReport,
} from '@millrace/agent/evals';
import { addUsage, type Usage } from '@millrace/core';
import { countOf, textTable } from '../print/text-table.ts';
import { cell, type JunitCase, junitDocument } from '../recorded/report-files.ts';
import { oneLine } from '../text/cells/printable.ts';

/** The report of an experiment, and the gates that it must pass. */
export interface EvalResult {
  readonly report: ExperimentReport;
  readonly gates: readonly Gate[];
  readonly failures: readonly GateFailure[];
}

/** Returns the lines for the terminal: a table of the scores, a table of costs, and the failed gates. */
export function evalText({ report, failures }: EvalResult, columns?: number): readonly string[] {
  const { variants } = report;
  const scores = scoreRows(report);
  const right = { columns, rightAligned: [2, 3, 4] };
  return [
    ...(scores.length > 0 ? textTable([scoreHead, ...scores], right) : []),
    ...(scores.length > 0 ? [''] : []),
    ...textTable([costHead, ...variants.map(costRow)], { columns, rightAligned: [1, 2, 3, 4, 5] }),
    '',
    ...failures.map(gateText),
    summaryText(report),
  ];
}

/** Returns the tables of a report, with their heads. */
export function evalTables(report: ExperimentReport): {
  readonly scores: readonly (readonly string[])[];
  readonly costs: readonly (readonly string[])[];
} {
  const costs = report.variants.map(costRow);
  return { scores: [scoreHead, ...scoreRows(report)], costs: [costHead, ...costs] };
}

const scoreHead = ['variant', 'score', 'mean', 'interval', 'difference'];
const costHead = ['variant', 'runs', 'failed', 'cost', 'cost of scores', 'mean time'];

function scoreRows({ variants }: ExperimentReport): readonly (readonly string[])[] {
  return variants.flatMap(({ name, scores }) =>
    Object.entries(scores).map(([scorer, summary]) => [
      ...[name, scorer, summary.mean.toFixed(3), intervalText(summary.interval)],
      differenceText(summary),
    ]),
  );
}

function costRow(variant: VariantReport): readonly string[] {
  const { name, runs, failed, usage, scoreUsage, meanDurationMs } = variant;
  const seconds = `${(meanDurationMs / 1000).toFixed(2)} s`;
  return [name, String(runs), String(failed), costText(usage), costText(scoreUsage), seconds];
}

function intervalText(interval: Interval | undefined): string {
  return interval === undefined ? '' : `${interval.low.toFixed(3)}–${interval.high.toFixed(3)}`;
}

/** The difference to the baseline with its interval, for example `+0.120 (+0.010 to +0.230)`. */
function differenceText({ difference }: ScoreSummary): string {
  if (difference === undefined) return '';
  const { mean, interval } = difference;
  const range = interval && ` (${signed(interval.low)} to ${signed(interval.high)})`;
  return `${signed(mean)}${range ?? ''}`;
}

function signed(value: number): string {
  // A tiny negative number is shown as +0.000.
  const rounded = Number(value.toFixed(3)) || 0;
  return `${rounded >= 0 ? '+' : ''}${rounded.toFixed(3)}`;
}

/** Returns the cost with all its digits, or the number of tokens if the price is unknown. */
function costText({ costs, input, output }: Usage): string {
  if (costs.length > 0)
    return costs.map(({ amount, currency }) => `${amount} ${currency}`).join(', ');
  return input + output > 0 ? `${input + output} tokens` : '';
}

/** Returns one line with the counts and the total cost. */
export function summaryText({
  name,
  runs,
  stoppedBy,
  isComplete,
  variants,
}: ExperimentReport): string {
  const count = (status: RunReport['status']) => runs.filter((run) => run.status === status).length;
  const reused = runs.filter(({ isReused }) => isReused).length;
  const counts = [
    `${count('finished')} finished`,
    `${count('failed')} failed`,
    ...(count('open') > 0 ? [`${count('open')} open`] : []),
    ...(reused > 0 ? [`${reused} from the log`] : []),
  ];
  const spent = variants.map(({ usage, scoreUsage }) => addUsage(usage, scoreUsage));
  const total = spent.length > 0 ? costText(spent.reduce(addUsage)) : '';
  const cost = total === '' ? '' : `, ${total}`;
  const why = { signal: 'It was stopped.', max_cost: 'The cost reached its limit.' };
  const end = isComplete
    ? ''
    : ` ${stoppedBy === undefined ? '' : `${why[stoppedBy]} `}Run the command again to continue.`;
  return `${oneLine(name, 100)}: ${countOf(runs.length, 'run')}: ${counts.join(', ')}${cost}.${end}`;
}

/** Returns one line about a mean that is too low. */
export function gateText({ variant, scorer, mean, failUnder }: GateFailure): string {
  return `Too low: ${scorer} of ${variant} is ${mean.toFixed(3)}, and must be at least ${failUnder}`;
}

/** Returns a report for programs. */
export function evalJson({ report, gates, failures }: EvalResult): string {
  const { runs, ...rest } = report;
  return `${JSON.stringify({ ...rest, gates, failures, runs }, undefined, 2)}\n`;
}

/**
 * Returns a report in the format of JUnit. Each run is a test case. Each mean that has a gate is a test case
 * too.
 */
export function evalJunit({ report, gates, failures }: EvalResult): string {
  const runs = report.runs.map((run): JunitCase => {
    const { status, variant, case: id, repeat, error } = run;
    const shared = { group: `${report.name}.${variant}`, name: `${id}, run ${repeat}` };
    if (status === 'finished') return shared;
    return { ...shared, problem: { kind: 'error', lines: [error ?? `The run is ${status}`] } };
  });
  const means = report.variants.flatMap(({ name, scores }) =>
    Object.keys(scores)
      .filter((scorer) =>
        gates.some((gate) => (gate.scorer ?? scorer) === scorer && (gate.variant ?? name) === name),
      )
      .map((scorer): JunitCase => {
        const lines = failures
          .filter((one) => one.variant === name && one.scorer === scorer)
          .map(gateText);
        const shared = { group: `${report.name}.${name}`, name: `mean of ${scorer}` };
        return lines.length === 0 ? shared : { ...shared, problem: { kind: 'failure', lines } };
      }),
  );
  return junitDocument('millrace eval', [...means, ...runs]);
}

/** Returns a summary in Markdown, for the comment of a pull request. */
export function evalMarkdown({ report, failures }: EvalResult): string {
  const table = (head: readonly string[], rows: readonly (readonly string[])[]) => [
    `| ${head.join(' | ')} |`,
    `|${head.map(() => '---|').join('')}`,
    ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
  ];
  const scores = scoreRows(report);
  return [
    `### Experiment ${cell(report.name)}`,
    '',
    cell(summaryText(report)),
    ...failures.flatMap((failure) => ['', `**${cell(gateText(failure))}**`]),
    ...(scores.length > 0 ? ['', ...table(scoreHead, scores)] : []),
    '',
    ...table(costHead, report.variants.map(costRow)),
    '',
  ].join('\n');
}
