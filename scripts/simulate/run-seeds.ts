import { type SeedOptions, type SeedResult, simulateSeed } from './simulate-seed.ts';

/** A failed seed, with the smallest set of faults that still fails. */
export interface Failure {
  readonly seed: number;
  readonly problems: readonly string[];
  /** The numbers of the faults that cause the failure. */
  readonly faults: readonly number[];
  /** The command line arguments that repeat the run. */
  readonly replay: string;
}

/** The totals over all runs. */
export interface Totals {
  seeds: number;
  steps: number;
  records: number;
  messages: number;
  faults: number;
}

interface RunOptions extends Omit<SeedOptions, 'seed' | 'faults' | 'keepTrace'> {
  /** The first seed. The other seeds are the numbers after it. */
  readonly first: number;
  readonly count: number;
  readonly onFailure: (failure: Failure) => void;
  /** If true, the run stops at the first failure. Default: false. */
  readonly isEndedByFailure?: boolean | undefined;
}

/** A range of seeds. */
export interface SeedRange {
  readonly first: number;
  readonly count: number;
}

/**
 * Maximum number of seeds per process. A simulated crash leaves an unfinished program in memory
 * until the process ends. This takes 2 to 3 MB per seed.
 */
const maxSeedsPerProcess = 200;

/** Splits seeds into ranges. Each range runs in its own process, and each job gets some ranges. */
export function splitSeeds({ first, count }: SeedRange, jobs: number): readonly SeedRange[] {
  const size = Math.max(1, Math.min(maxSeedsPerProcess, Math.ceil(count / jobs)));
  return Array.from({ length: Math.ceil(count / size) }, (_, index) => ({
    first: first + index * size,
    count: Math.min(size, count - index * size),
  }));
}

/**
 * Runs several seeds. For each failed seed, it finds the smallest set of faults that still fails.
 */
export async function runSeeds(options: RunOptions): Promise<Totals> {
  const { first, count, onFailure, isEndedByFailure = false, ...rest } = options;
  const totals = { seeds: 0, steps: 0, records: 0, messages: 0, faults: 0 };
  for (let seed = first; seed < first + count; seed++) {
    const result = await simulateSeed({ ...rest, seed });
    totals.seeds++;
    totals.steps += result.steps;
    totals.records += result.records;
    totals.messages += result.messages;
    totals.faults += result.faults.length;
    if (result.problems.length === 0) continue;
    onFailure(await shrink({ ...rest, seed }, result));
    if (isEndedByFailure) break;
  }
  return totals;
}

/**
 * Maximum number of runs to shrink a failure. A plan has at most nine faults, so this is enough.
 */
const maxRuns = 60;

/**
 * Removes faults while the run still fails. It removes half of them first, then single ones (delta
 * debugging). Each run starts from the beginning, so the reported failure can be repeated exactly.
 */
async function shrink(options: SeedOptions, failed: SeedResult): Promise<Failure> {
  let last = failed;
  let runs = 0;
  const failsWithout = async (removed: readonly number[]) => {
    runs++;
    const faults = numbersOf(last).filter((number) => !removed.includes(number));
    const result = await simulateSeed({ ...options, faults });
    if (result.problems.length > 0) last = result;
    return result.problems.length > 0;
  };
  for (let size = Math.ceil(last.faults.length / 2); size > 0 && runs < maxRuns; ) {
    let hasShrunk = false;
    for (let at = 0; at < last.faults.length && runs < maxRuns; )
      if (await failsWithout(numbersOf(last).slice(at, at + size))) hasShrunk = true;
      else at += size;
    if (!hasShrunk || size > last.faults.length) size = size === 1 ? 0 : Math.ceil(size / 2);
  }
  const { seed, plant } = options;
  const { problems, store } = last;
  const faults = numbersOf(last);
  const planted = plant === undefined ? '' : ` --plant ${plant}`;
  const replay = `--seed ${seed} --store ${store} --faults ${faults.join() || 'none'}${planted}`;
  return { seed, problems, faults, replay };
}

function numbersOf({ faults }: SeedResult): readonly number[] {
  return faults.map(({ number }) => number);
}
