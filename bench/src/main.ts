import { compareAgent } from './agent/compare-agent.ts';
import { compareCluster } from './cluster/compare-cluster.ts';
import { compareColdStart } from './cold-start/compare-cold-start.ts';
import { compareCore } from './compare-core.ts';
import { contest } from './contest.ts';
import type { Contestant } from './contestant.ts';
import { appendAll } from './floor.ts';
import { baseUrl, fetchOf } from './injected-fetch.ts';
import { compareLog } from './log/compare-log.ts';
import { ours } from './ours.ts';
import { comparePage } from './page/compare-page.ts';
import { compareServer } from './server/compare-server.ts';
import { workloads } from './workloads.ts';

const sections = ['core', 'ours', 'log', 'agent', 'server', 'peers', 'page', 'cold-start'];

/** What the injected fetch alone costs everybody. */
const floorThroughFetch: Contestant = {
  name: 'F1 through the injected fetch',
  run: async (reads) => {
    const { body } = await fetchOf(reads)(baseUrl);
    if (body === null) throw new Error('the injected fetch answered without a body');
    return { characters: await appendAll(body) };
  },
};

/** By name and only when asked for, so that all else is checked and run without them installed. */
async function loadPeers(): Promise<readonly Contestant[]> {
  const path: string = './peers/index.ts';
  return ((await import(path)) as { readonly peers: readonly Contestant[] }).peers;
}

async function main(chosen: readonly string[]): Promise<void> {
  const unknown = chosen.find((word) => word !== '--cluster' && !sections.includes(word));
  if (unknown !== undefined) {
    throw new Error(
      `there is no bench "${unknown}"; choose among ${sections.join(', ')}, or --cluster alone`,
    );
  }
  if (chosen.includes('--cluster')) return compareCluster();
  const has = (section: string) => chosen.length === 0 || chosen.includes(section);
  console.log(`Node ${process.version}, ${process.arch}\n`);
  if (has('core')) await compareCore();
  if (has('log')) await compareLog();
  if (has('agent')) await compareAgent();
  if (has('server')) await compareServer();
  if (has('page')) await comparePage();
  if (has('cold-start')) await compareColdStart();
  if (!has('ours') && !has('peers')) return;
  const peers = has('peers') ? await loadPeers() : [];
  const contestants = [floorThroughFetch, ...(has('ours') ? ours : []), ...peers];
  console.log('\nThe whole way: from bytes to the folded result, every event consumed');
  for (const sized of workloads) {
    if (!(await contest(sized, contestants))) process.exitCode = 1;
  }
}

await main(process.argv.slice(2));
