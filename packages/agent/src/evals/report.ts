import { addUsage, noUsage, type Usage } from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';
import { assertKnownOptions } from '../known-options.ts';
import type {
  ExperimentReport,
  RunReport,
  Score,
  ScoreDifference,
  ScoreSummary,
  VariantReport,
} from './experiment.ts';
import { type Interval, meanInterval, meanOf, wilsonInterval } from './statistics.ts';

/** The matrix that a report is about. */
export interface ReportedPlan {
  readonly name: string;
  readonly session: string;
  readonly baseline: string;
  readonly variants: readonly string[];
  readonly scorers: readonly { readonly name: string }[];
  readonly confidence: number;
}

/** The score of a failed run. */
export const failedScore: Score = { value: 0, reason: 'The run failed' };

/** A run passes a scorer if its score is at least this number. */
const passingScore = 0.5;

/** Returns the score of a run. A scorer can have the name of a method of objects. */
function scoreOf({ scores }: RunReport, scorer: string): Score | undefined {
  return Object.hasOwn(scores, scorer) ? scores[scorer] : undefined;
}

/** Creates the report of an experiment from its runs. */
export function experimentReport(
  plan: ReportedPlan,
  runs: readonly RunReport[],
  stoppedBy: ExperimentReport['stoppedBy'],
): ExperimentReport {
  const { name: experiment, session, baseline, variants } = plan;
  const byVariant = Map.groupBy(runs, ({ variant }) => variant);
  const runsOf = (name: string) => byVariant.get(name) ?? [];
  return {
    ...{ name: experiment, session, baseline, runs },
    variants: variants.map((name) => variantReport(name, runsOf(name), plan, runsOf(baseline))),
    isComplete: runs.every(({ status }) => status !== 'open'),
    ...(stoppedBy && { stoppedBy }),
  };
}

function variantReport(
  name: string,
  runs: readonly RunReport[],
  { scorers, baseline, confidence }: ReportedPlan,
  baselineRuns: readonly RunReport[],
): VariantReport {
  const ended = runs.filter(({ stop }) => stop !== undefined);
  const durations = ended.map(({ durationMs }) => durationMs).toSorted((one, two) => one - two);
  const scores = new Map<string, ScoreSummary>();
  for (const { name: scorer } of scorers) {
    const own = caseMeans(runs, scorer);
    if (own.size === 0) continue;
    const other = name === baseline ? undefined : caseMeans(baselineRuns, scorer);
    const difference = other && differenceOf(own, other, confidence);
    const values = runs.flatMap((run) => scoreOf(run, scorer)?.value ?? []);
    const means = [...own.values()];
    scores.set(scorer, {
      mean: meanOf(means),
      interval: scoreInterval(values, means, confidence),
      passRate: values.filter((value) => value >= passingScore).length / values.length,
      ...{ cases: own.size, runs: values.length },
      ...(difference && { difference }),
    });
  }
  return {
    ...{ name, runs: runs.length, scores: Object.fromEntries(scores) },
    failed: runs.filter(({ status }) => status === 'failed').length,
    open: runs.filter(({ status }) => status === 'open').length,
    usage: sumOf(runs.map(({ usage }) => usage)),
    scoreUsage: sumOf(runs.map(({ scoreUsage }) => scoreUsage)),
    meanDurationMs: meanOf(durations),
    p95DurationMs: durations[Math.ceil(durations.length * 0.95) - 1] ?? 0,
  };
}

/**
 * Returns the mean score of each case. Repeats of a case are not independent of each other, so a case is the unit
 * of all intervals: more repeats make the value of a case more exact, and do not count as more cases.
 */
export function caseMeans(runs: readonly RunReport[], scorer: string): ReadonlyMap<string, number> {
  const values = new Map<string, number[]>();
  for (const run of runs) {
    const score = scoreOf(run, scorer);
    const known = values.get(run.case);
    if (score !== undefined && known === undefined) values.set(run.case, [score.value]);
    else if (score !== undefined) known?.push(score.value);
  }
  return new Map([...values].map(([id, all]) => [id, meanOf(all)]));
}

/** `values` are the scores of all runs, and `means` are the means of the cases. */
function scoreInterval(
  values: readonly number[],
  means: readonly number[],
  confidence: number,
): Interval | undefined {
  const isRate = values.every((value) => value === 0 || value === 1);
  if (isRate) return wilsonInterval(meanOf(means), means.length, confidence);
  return meanInterval(means, confidence, [0, 1]);
}

/** Returns the mean of the differences of the cases that both variants have. */
export function differenceOf(
  own: ReadonlyMap<string, number>,
  other: ReadonlyMap<string, number>,
  confidence: number,
): ScoreDifference | undefined {
  const differences = [...own].flatMap(([id, value]) => {
    const before = other.get(id);
    return before === undefined ? [] : value - before;
  });
  if (differences.length === 0) return undefined;
  const interval = meanInterval(differences, confidence, [-1, 1]);
  return { mean: meanOf(differences), interval, cases: differences.length };
}

function sumOf(usages: readonly Usage[]): Usage {
  return usages.reduce((sum, one) => (one === noUsage ? sum : addUsage(sum, one)), noUsage);
}

/** A lower limit for the mean of a score. */
export interface Gate {
  /** The scorer to which the limit applies. Default: all scorers. */
  readonly scorer?: string | undefined;
  /** The variant to which the limit applies. Default: all variants. */
  readonly variant?: string | undefined;
  /** The lowest mean that passes, from 0 to 1. */
  readonly failUnder: number;
}

/** A mean below its limit. */
export interface GateFailure {
  readonly variant: string;
  readonly scorer: string;
  readonly mean: number;
  readonly failUnder: number;
}

/**
 * Returns the means that are below the limits. An experiment that is not complete can pass, so check `isComplete`
 * too. Throws `bad_option` if a gate names a scorer or a variant without scores, because it would always pass.
 */
export function failedGates(
  { variants }: Pick<ExperimentReport, 'variants'>,
  gates: readonly Gate[],
): readonly GateFailure[] {
  const scorers = new Set(variants.flatMap(({ scores }) => Object.keys(scores)));
  const names = new Set(variants.map(({ name }) => name));
  for (const gate of gates) {
    assertKnownOptions('failedGates', gate, { scorer: true, variant: true, failUnder: true });
    const { scorer, variant, failUnder } = gate;
    if (!(failUnder >= 0 && failUnder <= 1)) throw badGate('failUnder must be from 0 to 1');
    if (scorers.size === 0) throw badGate('there are no scores');
    if (scorer !== undefined && !scorers.has(scorer))
      throw badGate(`there is no score ${scorer}. Scores: ${[...scorers].join(', ')}`);
    if (variant !== undefined && !names.has(variant))
      throw badGate(`there is no variant ${variant}. Variants: ${[...names].join(', ')}`);
  }
  return gates.flatMap(({ scorer, variant, failUnder }) =>
    variants
      .filter(({ name }) => variant === undefined || name === variant)
      .flatMap(({ name, scores }) =>
        Object.entries(scores)
          .filter(([key, { mean }]) => (scorer ?? key) === key && mean < failUnder)
          .map(([key, { mean }]) => ({ variant: name, scorer: key, mean, failUnder })),
      ),
  );
}

function badGate(problem: string): AgentError {
  return new AgentError('bad_option', `Cannot check the gate: ${problem}`, { of: 'failedGates' });
}
