import type { ExperimentReport, RunReport, ScoreDifference } from './experiment.ts';
import { caseMeans, differenceOf } from './report.ts';

/** A variant of an experiment. */
export interface ComparedVariant {
  readonly report: Pick<ExperimentReport, 'runs'>;
  readonly variant: string;
}

/** One case of two variants. */
export interface CaseComparison {
  /** The id of the case. */
  readonly case: string;
  /** The change from the score of `a` to the score of `b`. `unknown`: one of them has no score. */
  readonly change: CaseChange;
  /** The mean score of `b` minus the mean score of `a`. Undefined if one of them has no score. */
  readonly difference?: number | undefined;
  readonly a: ComparedCase;
  readonly b: ComparedCase;
}

/** The change of the score of a case. */
export type CaseChange = 'worse' | 'better' | 'same' | 'unknown';

/** One case of one variant. */
export interface ComparedCase {
  /** The mean score of the repeats. Undefined if there is no score. */
  readonly mean?: number | undefined;
  /** The runs of the case, by repeat. Empty if the variant does not have the case. */
  readonly runs: readonly RunReport[];
}

/** The comparison of two variants by one scorer. */
export interface VariantComparison {
  /** The cases of both variants. The cases that got worse the most come first. */
  readonly cases: readonly CaseComparison[];
  readonly counts: Readonly<Record<CaseChange, number>>;
  /** The mean of the differences. Undefined if no case has a score in both variants. */
  readonly difference?: ScoreDifference | undefined;
}

/** Means of repeats are sums of floating-point numbers. Smaller differences are none. */
const smallest = 1e-9;

/**
 * Compares two variants case by case: `a` is the variant before a change, and `b` is the variant after it. The
 * variants can be of one experiment, or of two experiments that have cases with the same ids.
 */
export function compareVariants(
  a: ComparedVariant,
  b: ComparedVariant,
  scorer: string,
  confidence = 0.95,
): VariantComparison {
  const [before, after] = [a, b].map(({ report, variant }) => {
    const runs = report.runs.filter((run) => run.variant === variant);
    const byCase = Map.groupBy(runs, (run) => run.case);
    return { byCase, means: caseMeans(runs, scorer) };
  });
  const counts = { worse: 0, better: 0, same: 0, unknown: 0 };
  const ids = new Set([...(before?.byCase.keys() ?? []), ...(after?.byCase.keys() ?? [])]);
  const cases = [...ids].map((id): CaseComparison => {
    const [one, other] = [before?.means.get(id), after?.means.get(id)];
    const difference = one === undefined || other === undefined ? undefined : other - one;
    const change = changeOf(difference);
    counts[change]++;
    return {
      ...{ case: id, change, difference },
      a: { mean: one, runs: before?.byCase.get(id) ?? [] },
      b: { mean: other, runs: after?.byCase.get(id) ?? [] },
    };
  });
  const none = new Map<string, number>();
  return {
    cases: cases.toSorted((one, other) => rankOf(one) - rankOf(other)),
    counts,
    difference: differenceOf(after?.means ?? none, before?.means ?? none, confidence),
  };
}

function changeOf(difference: number | undefined): CaseChange {
  if (difference === undefined) return 'unknown';
  if (Math.abs(difference) < smallest) return 'same';
  return difference < 0 ? 'worse' : 'better';
}

/** Worse cases come first, then better cases, cases without a score, and equal cases. */
function rankOf({ change, difference = 0 }: CaseComparison): number {
  if (change === 'worse') return difference - 3;
  if (change === 'better') return -difference;
  return change === 'unknown' ? 1 : 2;
}
