import { clusterChaos } from '../../packages/server/src/testing/cluster/chaos.ts';
import { startCluster } from '../../packages/server/src/testing/cluster/cluster.ts';
import { Randomness } from './randomness.ts';

interface ClusterChaosOptions {
  readonly kills: number;
  readonly seed: number;
  readonly folder: string;
}

/** Kills processes and cuts connections in a cluster, and prints the result. Returns true if nothing is wrong. */
export async function runClusterChaos({
  kills,
  seed,
  folder,
}: ClusterChaosOptions): Promise<boolean> {
  const generator = new Randomness(seed);
  const random = () => generator.next();
  const startedAt = performance.now();
  const cluster = await startCluster(folder);
  try {
    const result = await clusterChaos({ kills, random, cluster, onRound: console.log });
    const { counts, problems, messages, records, charges, looks } = result;
    const each = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.log(`events: ${each.join(', ')}`);
    console.log(`${kills} kills in ${seconds} s; ${messages} messages, ${records} records`);
    console.log(`tools: ${charges} that must run once at most, ${looks} that may run again`);
    for (const problem of problems) console.error(`problem: ${problem}`);
    console.log(problems.length === 0 ? 'nothing lost, nothing duplicated' : 'NOT CLEAN');
    return problems.length === 0;
  } finally {
    await cluster.stop();
  }
}
