// Simulates servers, agents, clients and their store in one process. The clock, the network and the
// disk are virtual, and a seed determines the faults. At the end, it checks laws that must always
// hold:
//   npm run simulate -- --seeds 200
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { StoreKind } from './simulate/cluster.ts';
import { type Plant, plantFault, plants } from './simulate/plants.ts';
import type { Failure, Totals } from './simulate/run-seeds.ts';

const stores = ['sqlite', 'postgres', 'file'] as const satisfies readonly StoreKind[];

const usage = `Usage: npm run simulate -- [--seeds N] [--seed S] [--jobs J] [--store K] [--plant P]
       npm run simulate -- --seed S [--faults 1,3] [--store K] [--plant P] [--trace]

  --seeds N    number of seeds to run. Default: 10,000, or 1 with --seed
  --seed S     the first seed. The same seed repeats the same run. Default: random
  --jobs J     number of processes. Default: one per core
  --store K    sqlite or postgres: a model of that store; file: a real SQLite file. Default: the seed decides
  --plant P    A, B or C: takes the fix of that fault out, and succeeds if a seed fails
  --faults L   injects only these faults of the seed's plan, by their numbers, or none
  --trace      prints everything that happens`;

function exitWithUsage(): never {
  console.error(usage);
  process.exit(2);
}

function wholeNumber(text: string | undefined, defaultValue: number): number {
  const number = text === undefined ? defaultValue : Number(text);
  return Number.isSafeInteger(number) && number >= 0 ? number : exitWithUsage();
}

function oneOf<T extends string>(text: string | undefined, names: readonly T[]): T | undefined {
  if (text === undefined) return undefined;
  return names.find((name) => name === text) ?? exitWithUsage();
}

function readArgs() {
  const value = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const numbers = { seeds: value, seed: value, jobs: value, faults: value };
    return parseArgs({
      options: { ...numbers, store: value, plant: value, trace: flag, help: flag },
    });
  } catch {
    return exitWithUsage();
  }
}

interface Share {
  readonly first: number;
  readonly count: number;
  readonly store: StoreKind | undefined;
  readonly plant: Plant | undefined;
}

/**
 * Maximum number of problems that are printed for each seed. The first problem is usually the cause
 * of the others.
 */
const maxShown = 5;

function printFailure({ seed, problems, faults, replay }: Failure): void {
  console.log(`seed ${seed} fails, with ${faults.length} faults:`);
  for (const problem of problems.slice(0, maxShown)) console.log(`  ${problem}`);
  if (problems.length > maxShown) console.log(`  and ${problems.length - maxShown} more`);
  console.log(`  repeat: npm run simulate -- ${replay}`);
}

interface ShareResult {
  readonly totals: Totals;
  readonly failed: number;
}

/** Runs a range of seeds in this process. */
async function runShare(share: Share): Promise<ShareResult> {
  const { plant } = share;
  const assertPlanted = plant === undefined ? () => {} : plantFault(plant);
  // A planted fault changes code while it is loaded. So this module must be loaded after the fault
  // is planted.
  const { runSeeds } = await import('./simulate/run-seeds.ts');
  assertPlanted();
  let failed = 0;
  const onFailure = (failure: Failure) => {
    failed++;
    printFailure(failure);
  };
  const totals = await runSeeds({ ...share, onFailure, isEndedByFailure: plant !== undefined });
  return { totals, failed };
}

/** Runs a range of seeds in a new process. */
async function startShare({ first, count, store }: Share): Promise<ShareResult> {
  const args = [
    '--seed',
    first,
    '--seeds',
    count,
    '--jobs',
    1,
    ...(store ? ['--store', store] : []),
  ];
  const child = fork(fileURLToPath(import.meta.url), args.map(String));
  let answer: ShareResult | undefined;
  child.on('message', (message) => {
    answer = message as typeof answer;
  });
  await once(child, 'close');
  if (answer === undefined) throw new Error(`The process for seeds from ${first} has failed`);
  return answer;
}

/**
 * Runs seeds in new processes, a few seeds per process. At most `jobs` processes run at the same
 * time.
 */
async function startShares(share: Share, jobs: number): Promise<readonly ShareResult[]> {
  const { splitSeeds } = await import('./simulate/run-seeds.ts');
  const waiting = splitSeeds(share, jobs).values();
  const results: ShareResult[] = [];
  const work = async () => {
    // All jobs share this iterator, so each range runs once.
    for (const range of waiting) results.push(await startShare({ ...share, ...range }));
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return results;
}

async function repeatOne(seed: number, options: Omit<Share, 'first' | 'count'>): Promise<boolean> {
  const { plant } = options;
  if (plant !== undefined) plantFault(plant);
  const { simulateSeed } = await import('./simulate/simulate-seed.ts');
  const { describeFault } = await import('./simulate/faults.ts');
  const { faults: list, trace = false } = values;
  const chosen = list === 'none' ? [] : list?.split(',').map((text) => wholeNumber(text, 0));
  const result = await simulateSeed({ seed, ...options, faults: chosen, keepTrace: trace });
  for (const line of result.trace) console.log(line);
  for (const fault of result.faults) console.log(`fault ${describeFault(fault)}`);
  for (const problem of result.problems) console.log(`problem: ${problem}`);
  const { steps, records, messages, digest } = result;
  console.log(`${steps} steps, ${records} records, ${messages} messages; digest ${digest}`);
  return result.problems.length === 0;
}

async function runAll(share: Share, jobs: number): Promise<boolean> {
  const startedAt = performance.now();
  const { plant } = share;
  // A process that was started by this script runs its seeds itself. With a planted fault, one
  // process is enough, because the first few seeds already find it.
  const isWorker = process.send !== undefined || plant !== undefined;
  const results = isWorker ? [await runShare(share)] : await startShares(share, jobs);
  const sum = (of: (totals: Totals) => number) =>
    results.reduce((all, { totals }) => all + of(totals), 0);
  const failed = results.reduce((all, one) => all + one.failed, 0);
  const [only] = results;
  if (only !== undefined && results.length === 1) process.send?.(only);
  if (process.send !== undefined) return failed === 0;
  const seeds = sum((totals) => totals.seeds);
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `${seeds} seeds in ${seconds.toFixed(1)} s; ${sum((totals) => totals.steps)} steps, ${sum((totals) => totals.faults)} faults, ${sum((totals) => totals.messages)} messages, ${sum((totals) => totals.records)} records`,
  );
  if (plant === undefined) console.log(`${failed} of ${seeds} seeds failed`);
  else
    console.log(
      failed > 0 ? `fault ${plant} found with ${seeds} seeds` : `fault ${plant} NOT found`,
    );
  return plant === undefined ? failed === 0 : failed > 0;
}

const { values } = readArgs();
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const plant = oneOf(values.plant, plants);
const store = oneOf(values.store, stores);
const isOne = values.seed !== undefined && values.seeds === undefined;
const first = wholeNumber(values.seed, Math.floor(Math.random() * 2 ** 31));
const isTold = values.faults !== undefined || values.trace === true;
if (isTold && !isOne) exitWithUsage();
const count = wholeNumber(values.seeds, 10_000);
const jobs = plant === undefined ? wholeNumber(values.jobs, availableParallelism()) : 1;
if (jobs === 0) exitWithUsage();
if (!isOne && process.send === undefined) console.log(`simulate: --seeds ${count} --seed ${first}`);
const isClean = isOne
  ? await repeatOne(first, { store, plant })
  : await runAll({ first, count, store, plant }, jobs);
// The process must exit explicitly. Programs of the simulation may still wait for events that never
// happen.
process.exit(isClean ? 0 : 1);
