import type { Change, ComparedCase, ComparedRun, Variant } from '../experiments/experiment-data.ts';
import { CaseList, VariantList } from '../experiments/experiments-page.tsx';
import { Sample } from './token-samples.tsx';

const confidence = 0.95;

function variant(name: string, mean: number, difference?: number): Variant {
  const interval = { low: mean - 0.12, high: Math.min(1, mean + 0.09), confidence };
  const around = { low: (difference ?? 0) - 0.1, high: (difference ?? 0) + 0.1, confidence };
  const score = {
    ...{ scorer: 'correct', mean, interval, pass_rate: mean, cases: 50, runs: 150 },
    difference: difference === undefined ? null : { mean: difference, interval: around, cases: 50 },
  };
  return {
    ...{ name, is_baseline: difference === undefined, runs: 150, ended: 150, open: 0 },
    ...{ failed: difference === undefined ? 0 : 3, input_tokens: 42_600, output_tokens: 2160 },
    ...{ costs: [{ amount: '0.18', currency: 'USD' }], score_costs: [] },
    ...{ mean_ms: 2100, p95_ms: 4800, scores: [score] },
  };
}

const variants = [
  variant('plain', 0.62),
  variant('brief', 0.6, -0.02),
  variant('careful', 0.9, 0.28),
];

function run(score: number): ComparedRun {
  return {
    ...{ repeat: 1, session_id: 'sample', status: 'finished', error: null, score, reason: null },
    ...{ duration_ms: 1800, input_tokens: 400, output_tokens: 20, costs: [] },
    votes: [{ session_id: 'vote', value: score, reason: 'It offers help at once.' }],
  };
}

function compared(id: string, change: Change, a: number, b: number): ComparedCase {
  const side = (mean: number) => ({ mean, runs: [run(mean)], run_count: 1 });
  return { case: id, change, difference: b - a, a: side(a), b: side(b) };
}

const cases = [
  compared('late parcel', 'worse', 0.9, 0.3),
  compared('broken cup', 'better', 0.3, 0.9),
  compared('gift card', 'same', 0.9, 0.9),
];

/** Samples of the scores of variants, and of compared cases. */
export function ExperimentSamples() {
  return (
    <>
      <Sample title="Variants of an experiment">
        <VariantList variants={variants} scorer="correct" />
      </Sample>
      <Sample title="Compared cases">
        <CaseList cases={cases} />
      </Sample>
    </>
  );
}
