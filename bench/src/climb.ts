import type { Contestant, Outcome } from './contestant.ts';
import { floor } from './floor.ts';
import { measure, timed } from './measure.ts';
import type { Workload } from './workloads.ts';

const smallest = 1 / 16;
/** A run that is expected to take longer is not begun. */
const longestRunMs = 10_000;
/** A full run that took longer is not repeated. */
const longestRepeatedMs = 3_000;

/** How a contestant takes part: in every round, with one run only, or not at all. */
export type Climb =
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

/** Finds out how much of a workload a contestant can take, for some need minutes for the whole. */
export async function climb(contestant: Contestant, sized: Sized): Promise<Climb> {
  const { name } = contestant;
  try {
    const top = await climbUp(contestant, sized);
    if (top.fraction < 1 || top.ms > longestRepeatedMs) return await once(name, top);
    const run = async () => check(await contestant.run(top.workload.reads), top.expected);
    return { type: 'repeated', name, note: top.note, run };
  } catch (error) {
    return { type: 'failed', name, reason: String(error) };
  }
}

interface Step {
  readonly fraction: number;
  readonly workload: Workload;
  readonly expected: number;
  readonly ms: number;
  readonly note: string;
}

/** Doubles the size as long as the next run, by the growth of the last one, is expected to be short. */
async function climbUp(contestant: Contestant, sized: Sized): Promise<Step> {
  // The first run is cold, and its time would hide the growth.
  await takeStep(contestant, sized, smallest);
  let top = await takeStep(contestant, sized, smallest);
  let growth = 2;
  while (top.fraction < 1 && top.ms * growth <= longestRunMs) {
    const next = await takeStep(contestant, sized, top.fraction * 2);
    growth = Math.max(2, next.ms / top.ms);
    top = next;
  }
  return top;
}

async function takeStep({ run }: Contestant, sized: Sized, fraction: number): Promise<Step> {
  const workload = sized(fraction);
  const expected = await floor(workload.reads);
  let note = '';
  const ms = await timed(async () => {
    note = check(await run(workload.reads), expected);
  });
  return { fraction, workload, expected, ms, note };
}

/** What a live user of it misses; throws where the result is wrong, so that no wrong run is timed. */
function check({ characters, heard }: Outcome, expected: number): string {
  if (characters !== expected) {
    throw new Error(`its result has ${characters} characters, F1's has ${expected}`);
  }
  return heard === undefined || heard === expected
    ? ''
    : `heard live: ${heard} of ${expected} characters`;
}

async function once(name: string, top: Step): Promise<Climb> {
  const { fraction, workload, ms } = top;
  const [floorMs = 0] = await measure([() => floor(workload.reads)], { rounds: 5, warmUps: 1 });
  const size = fraction < 1 ? `one run, at ${workload.title}; not run in full` : 'one run';
  return { type: 'once', name, ms, floorMs, note: top.note === '' ? size : `${size}; ${top.note}` };
}
