import type { Candidate } from './candidate.ts';
import { findSize, type SizedRun } from './find-size.ts';
import { floor } from './floor.ts';
import { measure, printRow } from './measure.ts';
import type { Workload } from './workloads.ts';

const plan = { rounds: 5, warmUps: 1 };

/**
 * Runs one workload with all candidates and prints a row for each. Returns true if all results were
 * right.
 */
export async function compareCandidates(
  sized: (fraction: number) => Workload,
  candidates: readonly Candidate[],
): Promise<boolean> {
  const { name, title, reads } = sized(1);
  console.log(`\n${name}: ${title}; medians of ${plan.rounds} rounds`);
  const sizedRuns: SizedRun[] = [];
  for (const candidate of candidates) sizedRuns.push(await findSize(candidate, sized));
  const repeated = sizedRuns.filter((one) => one.type === 'repeated');
  const runners = [() => floor(reads), ...repeated.map(({ run }) => run)];
  const [floorMs = 0, ...medians] = await measure(runners, plan);
  const msOf = new Map<SizedRun, number>(
    repeated.map((one, index) => [one, medians[index] ?? Number.NaN]),
  );
  printRow('F1: decode, split, parse, append', floorMs, floorMs, '');
  for (const one of sizedRuns) print(one, msOf.get(one) ?? Number.NaN, floorMs);
  return sizedRuns.every(({ type }) => type !== 'failed');
}

function print(one: SizedRun, ms: number, floorMs: number): void {
  switch (one.type) {
    case 'repeated':
      return printRow(one.name, ms, floorMs, one.note);
    case 'once':
      return printRow(one.name, one.ms, one.floorMs, one.note);
    case 'failed':
      return console.log(`${one.name}: no figure, ${one.reason}`);
  }
}
