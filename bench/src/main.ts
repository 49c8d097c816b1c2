import { compareAgent } from './agent/compare-agent.ts';
import type { Candidate } from './candidate.ts';
import { compareCluster } from './cluster/compare-cluster.ts';
import { compareColdStart } from './cold-start/compare-cold-start.ts';
import { compareCandidates } from './compare-candidates.ts';
import { compareCore } from './compare-core.ts';
import { appendAll } from './floor.ts';
import { baseUrl, fetchOf } from './injected-fetch.ts';
import { compareLog } from './log/compare-log.ts';
import { compareLongChat } from './long-chat/compare-long-chat.ts';
import { compareLongSession } from './long-session/compare-long-session.ts';
import { ours } from './ours.ts';
import { comparePage } from './page/compare-page.ts';
import { compareDiffOpening } from './page/diff-opening.ts';
import { compareSandbox } from './sandbox/compare-sandbox.ts';
import { compareSearch } from './search/compare-search.ts';
import { compareServer } from './server/compare-server.ts';
import { workloads } from './workloads.ts';

const sections = [
  'core',
  'ours',
  'log',
  'agent',
  'server',
  'peers',
  'page',
  'diff',
  'sandbox',
  'search',
  'cold-start',
  'long-chat',
  'long-session',
];

/** Measures F1 through the injected fetch, because every candidate pays for that fetch. */
const floorThroughFetch: Candidate = {
  name: 'F1 through the injected fetch',
  run: async (reads) => {
    const { body } = await fetchOf(reads)(baseUrl);
    if (body === null) throw new Error('The injected fetch returned no body');
    return { characters: await appendAll(body) };
  },
};

/** Imports the peers dynamically, so that all other sections run without their packages. */
async function loadPeers(): Promise<readonly Candidate[]> {
  const path: string = './peers/index.ts';
  return ((await import(path)) as { readonly peers: readonly Candidate[] }).peers;
}

async function main(chosen: readonly string[]): Promise<void> {
  const unknown = chosen.find((name) => name !== '--cluster' && !sections.includes(name));
  if (unknown !== undefined) {
    throw new Error(
      `Unknown section "${unknown}". Use any of ${sections.join(', ')}, or only --cluster`,
    );
  }
  if (chosen.includes('--cluster')) return compareCluster();
  // These sections take minutes, so they run only if they are chosen.
  if (chosen.includes('long-session')) await compareLongSession();
  if (chosen.includes('long-chat')) await compareLongChat();
  const has = (section: string) => chosen.length === 0 || chosen.includes(section);
  console.log(`Node ${process.version}, ${process.arch}\n`);
  if (has('core')) await compareCore();
  if (has('log')) await compareLog();
  if (has('agent')) await compareAgent();
  if (has('server')) await compareServer();
  if (has('page')) await comparePage();
  if (has('diff')) await compareDiffOpening();
  if (has('sandbox')) await compareSandbox();
  if (has('search')) await compareSearch();
  if (has('cold-start')) await compareColdStart();
  if (!has('ours') && !has('peers')) return;
  const peers = has('peers') ? await loadPeers() : [];
  const candidates = [floorThroughFetch, ...(has('ours') ? ours : []), ...peers];
  console.log('\nEnd to end: from bytes to the folded result, every event consumed');
  for (const sized of workloads) {
    if (!(await compareCandidates(sized, candidates))) process.exitCode = 1;
  }
}

await main(process.argv.slice(2));
