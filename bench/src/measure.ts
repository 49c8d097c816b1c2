import { macrotask } from './floor.ts';

/**
 * The duration of one run: `ms` is the elapsed time, `cpuMs` the time of all processors that the
 * process used.
 */
export interface Times {
  readonly ms: number;
  readonly cpuMs: number;
}

/** The median times of a runner, and its median ratios to the first runner of the same round. */
export interface Comparison extends Times {
  readonly ratio: number;
  readonly cpuRatio: number;
}

interface Plan {
  readonly rounds: number;
  readonly warmUps: number;
}

type Runners = readonly (() => Promise<unknown>)[];

/**
 * Returns the median milliseconds of each runner. Every round runs all runners in turn, so that all
 * have the same conditions.
 */
export async function measure(runners: Runners, plan: Plan): Promise<readonly number[]> {
  const measured = await measureRounds(runners, plan);
  return runners.map((_, index) => measured.compare(index).ms);
}

/**
 * Compares runners with the first one. Ratios within a round are reliable, even if other programs
 * use the machine.
 */
export async function compareRuns(runners: Runners, plan: Plan): Promise<readonly Comparison[]> {
  const measured = await measureRounds(runners, plan);
  return runners.map((_, index) => measured.compare(index));
}

async function measureRounds(runners: Runners, { rounds, warmUps }: Plan): Promise<Rounds> {
  const measured = new Rounds(runners.length);
  for (let round = -warmUps; round < rounds; round++) {
    const times: Times[] = [];
    for (const run of runners) times.push(await timed(run));
    if (round >= 0) measured.add(times);
  }
  return measured;
}

/** The times of several runners, round by round. */
export class Rounds {
  readonly #times: Times[][];

  constructor(runners: number) {
    this.#times = Array.from({ length: runners }, () => []);
  }

  /** Adds the times of all runners in one round. */
  add(times: readonly Times[]): void {
    for (const [index, one] of times.entries()) this.#times[index]?.push(one);
  }

  compare(index: number): Comparison {
    const [own = [], floors = []] = [this.#times[index], this.#times[0]];
    const ratios = (of: (times: Times) => number) =>
      median(own.map((one, round) => of(one) / of(floors[round] ?? one)));
    return {
      ms: median(own.map(({ ms }) => ms)),
      cpuMs: median(own.map(({ cpuMs }) => cpuMs)),
      ratio: ratios(({ ms }) => ms),
      cpuRatio: ratios(({ cpuMs }) => cpuMs),
    };
  }
}

/**
 * Measures a run until the next macrotask, to include work that the runner defers until after its
 * result.
 */
export async function timed(run: () => Promise<unknown>): Promise<Times> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await run();
  await macrotask();
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, cpuMs: (user + system) / 1000 };
}

export function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

export function printRow(name: string, ms: number, floorMs: number, note: string): void {
  const times = ms / floorMs;
  const ratio = times.toFixed(times < 100 ? 2 : 0).padStart(7);
  console.log(
    `${name.padEnd(58)} ${ms.toFixed(1).padStart(8)} ms ${ratio} × F1   ${note}`.trimEnd(),
  );
}

/** Prints a row with the elapsed time and the processor time. */
export function printComparison(name: string, compared: Comparison, note: string): void {
  const { ms, cpuMs, ratio, cpuRatio } = compared;
  const wall = `${ms.toFixed(1).padStart(8)} ms ${ratio.toFixed(2).padStart(7)} × F1`;
  const cpu = `CPU ${cpuMs.toFixed(1).padStart(7)} ms ${cpuRatio.toFixed(2).padStart(6)} × F1`;
  console.log(`${name.padEnd(58)} ${wall}   ${cpu}   ${note}`.trimEnd());
}
