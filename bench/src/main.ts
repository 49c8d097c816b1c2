import type { FoldState } from '@millrace/core';
import { LiveArguments, throughCore } from './core.ts';
import { floor } from './floor.ts';
import { argumentsWorkload, callsWorkload, textWorkload, type Workload } from './workloads.ts';

const rounds = 15;

/** Milliseconds of each contestant, one after the other in every round, so that all see the same machine. */
async function measure(
  contestants: readonly (() => Promise<unknown>)[],
): Promise<readonly number[]> {
  const times: number[][] = contestants.map(() => []);
  for (let round = -3; round < rounds; round++) {
    for (const [index, run] of contestants.entries()) {
      const start = performance.now();
      await run();
      if (round >= 0) times[index]?.push(performance.now() - start);
    }
  }
  return times.map(median);
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

const row = (name: string, ms: number, floorMs: number, goal: string) =>
  console.log(
    `${name.padEnd(58)} ${ms.toFixed(1).padStart(8)} ms ${(ms / floorMs).toFixed(2).padStart(7)} × F1   ${goal}`,
  );

async function check({ name, reads }: Workload): Promise<void> {
  const [expected, found] = [await floor(reads), await throughCore(reads)];
  if (expected !== found) throw new Error(`${name}: F1 has ${expected} characters, core ${found}`);
}

async function compare(workload: Workload): Promise<void> {
  const { name, title, reads, deltas } = workload;
  await check(workload);
  const [floorMs = 0, coreMs = 0] = await measure([() => floor(reads), () => throughCore(reads)]);
  row(`${name}  F1: ${title}, ${deltas} chunks`, floorMs, floorMs, '');
  row(`${name}  writer, fold and events`, coreMs, floorMs, 'goal: ≤ 1.5');
}

/** Holds on to the state after every record, as a time-travelling debugger would. */
async function keepingSnapshots(reads: readonly Uint8Array[]): Promise<number> {
  const states: FoldState[] = [];
  await throughCore(reads, undefined, (state) => states.push(state));
  return states.length;
}

async function compareSnapshots(workload: Workload, double: Workload): Promise<void> {
  const [floorMs = 0, keptMs = 0, doubleMs = 0] = await measure([
    () => floor(workload.reads),
    () => keepingSnapshots(workload.reads),
    () => keepingSnapshots(double.reads),
  ]);
  row(`${workload.name}  and the state kept at each delta`, keptMs, floorMs, '');
  const growth = (doubleMs / keptMs).toFixed(2);
  console.log(`${workload.name}  the same with ${double.title}: ${growth} × the time`);
}

async function withLiveArguments(reads: readonly Uint8Array[]): Promise<number> {
  const live = new LiveArguments();
  await throughCore(reads, (event) => live.see(event));
  return live.drawn;
}

async function compareArguments(workload: Workload, double: Workload): Promise<void> {
  const { name, title, reads, deltas } = workload;
  await check(workload);
  const [floorMs = 0, plainMs = 0, liveMs = 0, doubleMs = 0] = await measure([
    () => floor(reads),
    () => throughCore(reads),
    () => withLiveArguments(reads),
    () => withLiveArguments(double.reads),
  ]);
  row(`${name}  F1: ${title}, ${deltas} chunks`, floorMs, floorMs, '');
  row(`${name}  writer, fold and events`, plainMs, floorMs, '');
  row(`${name}  and each change, the value every 256th`, liveMs, floorMs, 'goal: ≤ 2');
  const growth = (doubleMs / liveMs).toFixed(2);
  console.log(`${name}  the same with ${double.title}: ${growth} × the time   goal: ≤ 2.2`);
}

console.log(`Node ${process.version}, ${process.arch}; medians of ${rounds} rounds\n`);
await compare(textWorkload());
await compareSnapshots(textWorkload(), textWorkload(40_000));
await compareArguments(argumentsWorkload(), argumentsWorkload(400_000));
await compare(callsWorkload());
