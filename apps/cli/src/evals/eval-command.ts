import { extname, resolve } from 'node:path';
import { failedGates, type RunReport, runExperiment } from '@millrace/agent/evals';
import type { EvalArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { Output } from '../print/output.ts';
import { assertNewReports, writeReportFile } from '../print/report-outputs.ts';
import { type StoreCommandOptions, withStore } from '../store/open-store.ts';
import { oneLine } from '../text/cells/printable.ts';
import { evalHtml } from './eval-html.ts';
import { type EvalResult, evalJson, evalJunit, evalMarkdown, evalText } from './eval-report.ts';
import { assertModule, loadExperiment } from './load-experiment.ts';

/**
 * Runs `millrace eval`. It runs or continues the experiment of a module, and prints the scores. The exit code is 1
 * if a score is too low, or if a run has no result. It is 3 if the user stopped the experiment, and 5 if the cost
 * reached its limit.
 */
export async function evalCommand(options: StoreCommandOptions<EvalArgs>): Promise<number> {
  const { args, stdout, stderr, cwd, signal } = options;
  const { gates, repeats, concurrency, maxCost, retryFailed } = args;
  const output = new Output(stdout);
  const notes = new Output(stderr, { name: 'standard error' });
  const file = resolve(cwd, args.file);
  assertModule(file);
  assertNewReports(args);
  const report = await withStore({ ...options, mustExist: false }, async ({ log }) => {
    const experiment = await loadExperiment(file, log);
    return runExperiment({
      ...experiment,
      ...(repeats !== undefined && { repeats }),
      ...(concurrency !== undefined && { concurrency }),
      ...(maxCost !== undefined && { maxCost: { amount: maxCost, currency: 'USD' } }),
      ...{ log, retryFailed, signal },
      onRun: (run, { done, total }) => {
        const problem = problemOf(run);
        if (problem !== undefined) void notes.write(`${oneLine(problem, 300)}\n`);
        const isTenth = Math.floor((done * 10) / total) > Math.floor(((done - 1) * 10) / total);
        if (total >= manyRuns && isTenth && !run.isReused)
          void notes.write(`${done} of ${total} runs\n`);
      },
    });
  });
  const result: EvalResult = { report, gates, failures: failedGates(report, gates) };
  for (const path of args.outputs) await writeReportFile(path, reportFor(path, result), args.force);
  if (args.json) await output.writeData(evalJson(result));
  else {
    const columns = (stdout.isTTY && stdout.columns) || undefined;
    for (const line of evalText(result, columns)) await output.write(`${line}\n`);
  }
  if (output.failure?.code === 'cannot_write') throw output.failure;
  if (report.stoppedBy === 'signal') return exitCodes.aborted;
  if (report.stoppedBy === 'max_cost') return exitCodes.limit;
  const isGood = report.isComplete && result.failures.length === 0;
  return isGood ? exitCodes.done : exitCodes.error;
}

/** From this number of runs on, the command prints its progress. */
const manyRuns = 20;

function problemOf({ status, variant, case: id, repeat, error }: RunReport): string | undefined {
  if (status === 'finished') return undefined;
  const what = status === 'failed' ? 'failed' : 'has no score';
  return `Run ${repeat} of ${variant} in case ${id} ${what}: ${error ?? 'unknown reason'}`;
}

/** Returns the report in the form that the ending of the file names. */
function reportFor(path: string, result: EvalResult): string {
  const forms: Readonly<Record<string, (result: EvalResult) => string>> = {
    ...{ '.xml': evalJunit, '.json': evalJson, '.md': evalMarkdown },
    ...{ '.html': evalHtml, '.htm': evalHtml },
  };
  return (forms[extname(path).toLowerCase()] ?? evalJson)(result);
}
