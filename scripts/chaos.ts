// Kills processes that write and read one log, at random moments and between the steps of a commit.
// It also changes their clocks, pauses drivers until their lease expires, and restores a backup.
// Then it compares the reports of the processes with the log:
//   npm run chaos -- --kills 1000 --seed 7
// With --handoffs, it hands runs over between terminals, a page and the daemon, and kills them:
//   npm run chaos -- --handoffs 200
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { restoreBackup } from '../apps/cli/src/backup/restore-backup.ts';
import { writeBackup } from '../apps/cli/src/backup/write-backup.ts';
import { clusterChaos } from '../packages/server/src/testing/cluster/chaos.ts';
import { startCluster } from '../packages/server/src/testing/cluster/cluster.ts';
import type { FaultReport } from './chaos/faults.ts';
import { Randomness } from './chaos/randomness.ts';
import { runChaos } from './chaos/run-chaos.ts';

const usage = `Usage: npm run chaos -- [--cluster] [--kills N] [--handoffs N] [--seed S] [--keep]

  --cluster   use two servers, a worker, Postgres, PgBouncer and Redis instead of one log file
  --kills N   number of processes to kill. Default: 100, or 200 with --cluster
  --handoffs N  instead, hand N runs over between terminals, a page and the daemon, with kills
  --seed S    seed of the random plan; the same seed repeats the plan. Default: random
  --keep      keep the folder with the log and print its path`;

function exitWithUsage(): never {
  console.error(usage);
  process.exit(2);
}

function wholeNumber(text: string | undefined, defaultValue: number): number {
  const number = text === undefined ? defaultValue : Number(text);
  return Number.isSafeInteger(number) && number >= 0 ? number : exitWithUsage();
}

function readArgs() {
  const flag = { type: 'boolean' } as const;
  const value = { type: 'string' } as const;
  try {
    const given = { kills: value, seed: value, keep: flag, help: flag, cluster: flag };
    const options = { ...given, handoffs: value };
    return parseArgs({ options });
  } catch {
    return exitWithUsage();
  }
}

/** Returns a text with the number of occurrences of each name. */
function formatCounts(names: readonly string[]): string {
  const counts = Map.groupBy(names, (name) => name);
  return [...counts]
    .map(([name, all]) => `${name} ${all.length}`)
    .sort()
    .join(', ');
}

const { values } = readArgs();
if (values.help) {
  console.log(usage);
  process.exit(0);
}

const wanted = wholeNumber(values.kills, values.cluster ? 200 : 100);
const seed = wholeNumber(values.seed, Math.floor(Math.random() * 2 ** 31));
const folder = mkdtempSync(join(tmpdir(), 'chaos-'));
const startedAt = performance.now();
const handoffs = wholeNumber(values.handoffs, 0);
const plan = handoffs > 0 ? `--handoffs ${handoffs}` : `--kills ${wanted}`;
console.log(`chaos: ${values.cluster ? '--cluster ' : ''}${plan} --seed ${seed}`);

/** Prints the faults. Returns true if there are none. */
function printResult(faults: FaultReport, failures: readonly string[]): boolean {
  for (const problem of [...faults.problems, ...failures]) console.error(`problem: ${problem}`);
  console.log(`${faults}`);
  return faults.isClean && failures.length === 0;
}

async function runSingleLogChaos(): Promise<boolean> {
  const result = await runChaos({ kills: wanted, seed, folder, onRound: console.log });
  const { faults, failures, kills: killed, records, others } = result;
  const minutes = (performance.now() - startedAt) / 60_000;
  const perMinute = Math.round(killed.length / minutes);
  console.log(`roles: ${formatCounts(killed.map(({ role }) => role))}`);
  console.log(`points: ${formatCounts(killed.map(({ where }) => where))}`);
  const { clockSteps, pauses, restores } = others;
  console.log(`other faults: clock steps ${clockSteps}, pauses ${pauses}, restores ${restores}`);
  console.log(`${killed.length} kills, ${perMinute} a minute; ${records} records`);
  return printResult(faults, failures);
}

const backupPath = join(folder, 'backup.db');
const postgresTarget = (url: string) => ({ type: 'postgres', name: 'the cluster', url }) as const;
const backups = {
  async make(url: string): Promise<void> {
    rmSync(backupPath, { force: true });
    await writeBackup(postgresTarget(url), backupPath);
  },
  async restore(url: string): Promise<void> {
    await restoreBackup({ path: backupPath, target: postgresTarget(url), replace: true });
  },
};

/**
 * Kills processes and cuts connections in a cluster, and prints the result. Returns true if there
 * are no faults.
 */
async function runClusterChaos(): Promise<boolean> {
  const random = new Randomness(seed);
  const cluster = await startCluster(folder);
  const isPooled = cluster.pooler !== undefined;
  const pooled = 'PgBouncer: in transaction mode, for server B and the worker';
  console.log(isPooled ? pooled : 'PgBouncer: none, because it is not installed');
  try {
    const options = { kills: wanted, random, cluster, onRound: console.log };
    const result = await clusterChaos({ ...options, backups });
    const { counts, faults, failures, messages, records, charges, looks } = result;
    const each = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.log(`events: ${each.join(', ')}`);
    console.log(`${wanted} kills in ${seconds} s; ${messages} messages, ${records} records`);
    console.log(`tools: ${charges} that must run once at most, ${looks} that may run again`);
    return printResult(faults, failures);
  } finally {
    await cluster.stop();
  }
}

/** Hands runs over between terminals, a page and the daemon. Returns true if there are no faults. */
async function runHandoffChaos(): Promise<boolean> {
  const { runHandoffs } = await import('./chaos/handoffs/run-handoffs.ts');
  const result = await runHandoffs({ handoffs, seed, folder, onRound: console.log });
  const { counts, messages, drivers, faults, failures } = result;
  const each = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(`events: ${each.join(', ')}`);
  console.log(`${handoffs} hand-offs in ${seconds} s; ${messages} messages, ${drivers} drivers`);
  return printResult(faults, failures);
}

function runSelected(): Promise<boolean> {
  if (handoffs > 0) return runHandoffChaos();
  return values.cluster ? runClusterChaos() : runSingleLogChaos();
}

try {
  const isClean = await runSelected();
  process.exitCode = isClean ? 0 : 1;
} finally {
  if (values.keep) console.log(`kept: ${folder}`);
  else rmSync(folder, { recursive: true });
}
