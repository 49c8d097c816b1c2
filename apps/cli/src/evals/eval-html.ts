import type { ExperimentReport, RunReport } from '@millrace/agent/evals';
import { xml } from '../recorded/report-files.ts';
import { htmlPage } from '../recorded/report-html.ts';
import { type EvalResult, evalTables, gateText, summaryText } from './eval-report.ts';

/** Maximum number of cases in the table of an HTML report. */
const maxCases = 2000;

/**
 * Returns a report as one HTML document: the means, the costs, and the variants side by side for each case. The
 * cases with the largest differences come first.
 */
export function evalHtml({ report, failures }: EvalResult): string {
  const { scores, costs } = evalTables(report);
  const gates = failures.map((failure) => `<p class="failed">${xml(gateText(failure))}</p>`);
  const scorers = [...new Set(report.variants.flatMap((variant) => Object.keys(variant.scores)))];
  const cases = casesOf(report, scorers).toSorted((one, other) => other.spread - one.spread);
  const hidden = cases.length - maxCases;
  const names = report.variants.map(({ name }) => name);
  const head = ['case', 'score', ...names];
  const rows = cases
    .slice(0, maxCases)
    .flatMap(({ id, runs }) =>
      scorers.map((scorer) => [
        xml(id),
        xml(scorer),
        ...names.map((name) => cellOf(runs, name, scorer)),
      ]),
    );
  return htmlPage(
    `Experiment ${report.name}`,
    `<p>${xml(summaryText(report))}</p>
${gates.join('\n')}
<h2>Scores</h2>
${table(escaped(scores))}
<h2>Costs</h2>
${table(escaped(costs))}
<h2>Cases</h2>
${hidden > 0 ? `<p>${hidden} more cases are not listed.</p>` : ''}
${table([head.map(xml), ...rows])}`,
  );
}

interface CaseRuns {
  readonly id: string;
  readonly runs: readonly RunReport[];
  /** The largest difference between the means of two variants in this case. */
  readonly spread: number;
}

function casesOf({ runs }: ExperimentReport, scorers: readonly string[]): readonly CaseRuns[] {
  return [...Map.groupBy(runs, (run) => run.case)].map(([id, own]) => {
    const variants = [...Map.groupBy(own, ({ variant }) => variant).values()];
    const spreads = scorers.map((scorer) => {
      const means = variants.flatMap((repeats) => meanOf(repeats, scorer) ?? []);
      return means.length === 0 ? 0 : Math.max(...means) - Math.min(...means);
    });
    return { id, runs: own, spread: Math.max(0, ...spreads) };
  });
}

function meanOf(runs: readonly RunReport[], scorer: string): number | undefined {
  const values = runs.flatMap(({ scores }) => scores[scorer]?.value ?? []);
  if (values.length === 0) return undefined;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The scores of one variant in one case, with their reasons. */
function cellOf(runs: readonly RunReport[], variant: string, scorer: string): string {
  return runs
    .filter((run) => run.variant === variant)
    .map(({ scores, status, session }) => {
      const { value, reason = '' } = scores[scorer] ?? {};
      const kind = value === undefined || status === 'failed' ? 'failed' : 'value';
      const title = `${session}\n${reason}`.trim();
      return `<span class="${kind}" title="${xml(title)}">${value === undefined ? '–' : value.toFixed(2)}</span>`;
    })
    .join(' ');
}

function escaped(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return rows.map((row) => row.map(xml));
}

/** The first row is the head. All cells are HTML. */
function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const headCells = head.map((text) => `<th scope="col">${text}</th>`).join('');
  const lines = rows.map((row) => `<tr>${row.map((text) => `<td>${text}</td>`).join('')}</tr>`);
  return `<div class="table"><table>
<thead><tr>${headCells}</tr></thead>
<tbody>
${lines.join('\n')}
</tbody>
</table></div>`;
}
