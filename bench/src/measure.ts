import { macrotask } from './floor.ts';

/** Median milliseconds of each runner. Every round runs all of them in turn, so that all share the same conditions. */
export async function measure(
  runners: readonly (() => Promise<unknown>)[],
  { rounds, warmUps }: { readonly rounds: number; readonly warmUps: number },
): Promise<readonly number[]> {
  const times: number[][] = runners.map(() => []);
  for (let round = -warmUps; round < rounds; round++) {
    for (const [index, run] of runners.entries()) {
      const ms = await timed(run);
      if (round >= 0) times[index]?.push(ms);
    }
  }
  return times.map(median);
}

/** Measures until the next macrotask, to include work that a runner defers until after its result. */
export async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  await macrotask();
  return performance.now() - start;
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
