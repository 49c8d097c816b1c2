import type { Candidate, RunResult } from './candidate.ts';
import { floor } from './floor.ts';
import { measure, timed } from './measure.ts';
import type { Workload } from './workloads.ts';

const smallestFraction = 1 / 16;
/** Maximum expected time of a run. A run that is expected to take longer is not started. */
const longestRunMs = 10_000;
/** Maximum time of a full run that is repeated. A longer one is measured only once. */
const longestRepeatedMs = 3_000;

/** How a candidate is measured: in every round, with a single run, or not at all because it failed. */
export type SizedRun =
  | {
      readonly type: 'repeated';
      readonly name: string;
      readonly note: string;
      readonly run: () => Promise<unknown>;
    }
  | {
      readonly type: 'once';
      readonly name: string;
      readonly note: string;
      readonly ms: number;
      readonly floorMs: number;
    }
  | { readonly type: 'failed'; readonly name: string; readonly reason: string };

type Sized = (fraction: number) => Workload;

/** Finds the largest part of a workload that a candidate can process in reasonable time. */
export async function findSize(candidate: Candidate, sized: Sized): Promise<SizedRun> {
  const { name } = candidate;
  try {
    const top = await growSize(candidate, sized);
    if (top.fraction < 1 || top.ms > longestRepeatedMs) return await once(name, top);
    const run = async () => check(await candidate.run(top.workload.reads), top.expected);
    return { type: 'repeated', name, note: top.note, run };
  } catch (error) {
    return { type: 'failed', name, reason: String(error) };
  }
}

/** A run at one size of the workload. */
interface SizeResult {
  readonly fraction: number;
  readonly workload: Workload;
  readonly expected: number;
  readonly ms: number;
  readonly note: string;
}

/**
 * Doubles the size while the next run is expected to be short. The expected time is computed from
 * how much slower the last run was than the one before.
 */
async function growSize(candidate: Candidate, sized: Sized): Promise<SizeResult> {
  // The first run is cold, so its time would hide how the time grows.
  await runAtSize(candidate, sized, smallestFraction);
  let top = await runAtSize(candidate, sized, smallestFraction);
  let growth = 2;
  while (top.fraction < 1 && top.ms * growth <= longestRunMs) {
    const next = await runAtSize(candidate, sized, top.fraction * 2);
    growth = Math.max(2, next.ms / top.ms);
    top = next;
  }
  return top;
}

async function runAtSize({ run }: Candidate, sized: Sized, fraction: number): Promise<SizeResult> {
  const workload = sized(fraction);
  const expected = await floor(workload.reads);
  let note = '';
  const { ms } = await timed(async () => {
    note = check(await run(workload.reads), expected);
  });
  return { fraction, workload, expected, ms, note };
}

/**
 * Throws if the result is wrong, so that it is not timed. Returns a note if the live deltas were
 * incomplete.
 */
function check({ characters, streamed }: RunResult, expected: number): string {
  if (characters !== expected) {
    throw new Error(`its result has ${characters} characters, F1's has ${expected}`);
  }
  return streamed === undefined || streamed === expected
    ? ''
    : `streamed live: ${streamed} of ${expected} characters`;
}

async function once(name: string, top: SizeResult): Promise<SizedRun> {
  const { fraction, workload, ms } = top;
  const [floorMs = 0] = await measure([() => floor(workload.reads)], { rounds: 5, warmUps: 1 });
  const size = fraction < 1 ? `one run, at ${workload.title}; not run in full` : 'one run';
  return { type: 'once', name, ms, floorMs, note: top.note === '' ? size : `${size}; ${top.note}` };
}
