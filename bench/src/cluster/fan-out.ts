import { sessionId } from '@millrace/core';
import { delays, median } from '../server/fan-out.ts';
import { speech } from '../server/servers.ts';
import { Viewers, type ViewersReport } from '../server/viewers.ts';
import { startServing } from './serving.ts';
import { openPlace, type Place, type Stores } from './stores.ts';

const viewersInAll = 1_000;
const frames = 100;
const rounds = 3;

/** One task, watched by many at one server and at two. */
export async function compareFanOut({ sqlite, cluster }: Stores): Promise<void> {
  console.log(`one task to ${viewersInAll} viewers, a frame each 20 ms, p50 and p99:`);
  console.log(`    ${sqlite.name}, one server: ${await watched(sqlite, 1)}`);
  console.log(`    ${cluster.name}, two servers: ${await watched(cluster, 2)}`);
}

async function watched(place: Place, servers: number): Promise<string> {
  const session = sessionId(`fan-out-${servers}`);
  await using writing = await openPlace(place);
  const say = await speech(await writing.log.open(session, { leaseMs: Number.POSITIVE_INFINITY }));
  await using stack = new AsyncDisposableStack();
  const crowds: Viewers[] = [];
  for (let index = 0; index < servers; index++) {
    const { port } = stack.use(await startServing(place));
    const crowd = stack.use(await Viewers.start(port, viewersInAll / servers));
    await crowd.connect(`/${session}`, 'item_started');
    crowds.push(crowd);
  }
  const reports: ViewersReport[] = [];
  for (let round = 0; round < rounds; round++) {
    const mark = `#round ${round}#`;
    const options = { isTimed: true, isFresh: true };
    const all = await Promise.all(crowds.map((crowd) => crowd.expect(mark, options)));
    for (let index = 1; index <= frames; index++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      const time = (performance.timeOrigin + performance.now()).toFixed(4);
      await say(`@${time}@${index === frames ? mark : ''} `);
    }
    reports.push(...(await Promise.all(all.map((told) => told()))));
  }
  return delays({
    p50: median(reports.map(({ p50 }) => p50)),
    p99: median(reports.map(({ p99 }) => p99)),
  });
}
