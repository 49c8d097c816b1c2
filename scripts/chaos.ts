// Processes that write and read one log are killed, at any moment and between any two steps of a commit,
// and what they were told is held against what is there: npm run chaos -- --kills 1000 --seed 7.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { clusterRun } from './chaos/cluster-run.ts';
import { runChaos } from './chaos/run-chaos.ts';

const usage = `Usage: npm run chaos -- [--cluster] [--kills N] [--seed S] [--keep]

  --cluster   two servers, a worker, Postgres and Redis instead of one log
  --kills N   how many processes die; 100 unless told, 200 of a cluster
  --seed S    what chance begins with, to have the same plan again; random unless told
  --keep      leaves the folder with the log behind, and says where it is`;

function refuse(): never {
  console.error(usage);
  process.exit(2);
}

function wholeNumber(text: string | undefined, otherwise: number): number {
  const number = text === undefined ? otherwise : Number(text);
  return Number.isSafeInteger(number) && number >= 0 ? number : refuse();
}

function readArgs() {
  const flag = { type: 'boolean' } as const;
  const value = { type: 'string' } as const;
  try {
    const options = { kills: value, seed: value, keep: flag, help: flag, cluster: flag };
    return parseArgs({ options });
  } catch {
    return refuse();
  }
}

/** How often each of them is there. */
function counted(names: readonly string[]): string {
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
console.log(`chaos: ${values.cluster ? '--cluster ' : ''}--kills ${wanted} --seed ${seed}`);

async function chaosOfOneLog(): Promise<boolean> {
  const result = await runChaos({ kills: wanted, seed, folder, onRound: console.log });
  const { verdict, failures, deaths, records } = result;
  const minutes = (performance.now() - startedAt) / 60_000;
  const perMinute = Math.round(deaths.length / minutes);
  console.log(`who: ${counted(deaths.map(({ role }) => role))}`);
  console.log(`where: ${counted(deaths.map(({ where }) => where))}`);
  console.log(`${deaths.length} kills, ${perMinute} a minute; ${records} records`);
  for (const problem of [...verdict.problems, ...failures]) console.error(`problem: ${problem}`);
  console.log(`${verdict}`);
  return verdict.isClean && failures.length === 0;
}

try {
  const isClean = values.cluster
    ? await clusterRun({ kills: wanted, seed, folder })
    : await chaosOfOneLog();
  process.exitCode = isClean ? 0 : 1;
} finally {
  if (values.keep) console.log(`kept: ${folder}`);
  else rmSync(folder, { recursive: true });
}
