import { clusterChaos } from '../../packages/server/src/testing/cluster/chaos.ts';
import { startCluster } from '../../packages/server/src/testing/cluster/cluster.ts';
import { Randomness } from './randomness.ts';

interface ClusterRunOptions {
  readonly kills: number;
  readonly seed: number;
  readonly folder: string;
}

/** Kills and cuts in a cluster, and says what came of it. True where nothing is wrong. */
export async function clusterRun({ kills, seed, folder }: ClusterRunOptions): Promise<boolean> {
  const chance = new Randomness(seed);
  const random = () => chance.next();
  const startedAt = performance.now();
  const cluster = await startCluster(folder);
  try {
    const result = await clusterChaos({ kills, random, cluster, onRound: console.log });
    const { counts, problems, messages, records, charges, looks } = result;
    const each = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.log(`what: ${each.join(', ')}`);
    console.log(`${kills} kills in ${seconds} s; ${messages} messages, ${records} records`);
    console.log(`tools: ${charges} that must run once at most, ${looks} that may run again`);
    for (const problem of problems) console.error(`problem: ${problem}`);
    console.log(problems.length === 0 ? 'nothing lost, nothing doubled' : 'NOT CLEAN');
    return problems.length === 0;
  } finally {
    await cluster.stop();
  }
}
