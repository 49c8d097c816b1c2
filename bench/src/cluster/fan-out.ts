import { sessionId } from '@millrace/core';
import { delays, median } from '../server/fan-out.ts';
import { textAppender } from '../server/servers.ts';
import { Viewers, type ViewersReport } from '../server/viewers.ts';
import { startServerProcess } from './server-process.ts';
import { openStore, type StoreLocation, type Stores } from './stores.ts';

const viewersInAll = 1_000;
const frames = 100;
const rounds = 3;

/** Streams one task to many viewers, with one server and with two. */
export async function compareFanOut({ sqlite, cluster }: Stores): Promise<void> {
  console.log(`one task to ${viewersInAll} viewers, a frame every 20 ms, p50 and p99:`);
  console.log(`    ${sqlite.name}, one server: ${await measureDelays(sqlite, 1)}`);
  console.log(`    ${cluster.name}, two servers: ${await measureDelays(cluster, 2)}`);
}

async function measureDelays(location: StoreLocation, servers: number): Promise<string> {
  const session = sessionId(`fan-out-${servers}`);
  await using writing = await openStore(location);
  const send = await textAppender(
    await writing.log.open(session, { leaseMs: Number.POSITIVE_INFINITY }),
  );
  await using stack = new AsyncDisposableStack();
  const viewerGroups: Viewers[] = [];
  for (let index = 0; index < servers; index++) {
    const { port } = stack.use(await startServerProcess(location));
    const viewers = stack.use(await Viewers.start(port, viewersInAll / servers));
    await viewers.connect(`/${session}`, 'item_started');
    viewerGroups.push(viewers);
  }
  const reports: ViewersReport[] = [];
  for (let round = 0; round < rounds; round++) {
    const mark = `#round ${round}#`;
    const options = { isTimed: true, isFresh: true };
    const all = await Promise.all(viewerGroups.map((viewers) => viewers.expect(mark, options)));
    for (let index = 1; index <= frames; index++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      const time = (performance.timeOrigin + performance.now()).toFixed(4);
      await send(`@${time}@${index === frames ? mark : ''} `);
    }
    reports.push(...(await Promise.all(all.map((report) => report()))));
  }
  return delays({
    p50: median(reports.map(({ p50 }) => p50)),
    p99: median(reports.map(({ p99 }) => p99)),
  });
}
