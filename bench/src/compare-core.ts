import type { FoldState } from '@millrace/core';
import { LiveArguments, throughCore } from './core.ts';
import { floor } from './floor.ts';
import { measure, printRow } from './measure.ts';
import { argumentsWorkload, callsWorkload, textWorkload, type Workload } from './workloads.ts';

const plan = { rounds: 15, warmUps: 3 };

/** Measures writer, fold and events alone, without a provider. */
export async function compareCore(): Promise<void> {
  console.log(`Core alone; medians of ${plan.rounds} rounds`);
  await compare(textWorkload());
  await compareSnapshots(textWorkload(), textWorkload(40_000));
  await compareArguments(argumentsWorkload(), argumentsWorkload(400_000));
  await compare(callsWorkload());
}

async function check({ name, reads }: Workload): Promise<void> {
  const [expected, found] = [await floor(reads), await throughCore(reads)];
  if (expected !== found) throw new Error(`${name}: F1 has ${expected} characters, core ${found}`);
}

async function compare(workload: Workload): Promise<void> {
  const { name, title, reads } = workload;
  await check(workload);
  const runners = [() => floor(reads), () => throughCore(reads)];
  const [floorMs = 0, coreMs = 0] = await measure(runners, plan);
  printRow(`${name}  F1: ${title}`, floorMs, floorMs, '');
  printRow(`${name}  writer, fold and events`, coreMs, floorMs, 'goal: ≤ 1.5');
}

/**
 * Keeps the state after every record, like a time-travel debugger. Returns the number of states.
 */
async function keepingSnapshots(reads: readonly Uint8Array[]): Promise<number> {
  const states: FoldState[] = [];
  await throughCore(reads, undefined, (state) => states.push(state));
  return states.length;
}

async function compareSnapshots(workload: Workload, double: Workload): Promise<void> {
  const runners = [
    () => floor(workload.reads),
    () => keepingSnapshots(workload.reads),
    () => keepingSnapshots(double.reads),
  ];
  const [floorMs = 0, keptMs = 0, doubleMs = 0] = await measure(runners, plan);
  printRow(`${workload.name}  and the state kept after each delta`, keptMs, floorMs, '');
  const growth = (doubleMs / keptMs).toFixed(2);
  console.log(`${workload.name}  the same with ${double.title}: ${growth} × the time`);
}

async function withLiveArguments(reads: readonly Uint8Array[]): Promise<number> {
  const live = new LiveArguments();
  await throughCore(reads, (event) => live.add(event));
  return live.drawn;
}

async function compareArguments(workload: Workload, double: Workload): Promise<void> {
  const { name, title, reads } = workload;
  await check(workload);
  const runners = [
    () => floor(reads),
    () => throughCore(reads),
    () => withLiveArguments(reads),
    () => withLiveArguments(double.reads),
  ];
  const [floorMs = 0, plainMs = 0, liveMs = 0, doubleMs = 0] = await measure(runners, plan);
  printRow(`${name}  F1: ${title}`, floorMs, floorMs, '');
  printRow(`${name}  writer, fold and events`, plainMs, floorMs, '');
  printRow(`${name}  and each change, the value at every 256th`, liveMs, floorMs, 'goal: ≤ 2');
  const growth = (doubleMs / liveMs).toFixed(2);
  console.log(`${name}  the same with ${double.title}: ${growth} × the time   goal: ≤ 2.2`);
}
