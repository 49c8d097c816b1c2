import { type SessionId, sessionId } from '@millrace/core';
import { delays } from '../server/fan-out.ts';
import { textAppender } from '../server/servers.ts';
import { Viewers, type ViewersReport } from '../server/viewers.ts';
import { startServerProcess } from './server-process.ts';
import { openStore, type StoreLocation, type Stores } from './stores.ts';

const words = 200;
/** The pause between two deltas. It is so long that no delta is merged with another one. */
const pauseMs = 50;

/** Measures the time from an append in one process until a viewer of another process receives it. */
export async function compareFirstDelta({ sqlite, postgres, cluster }: Stores): Promise<void> {
  const alone = await firstDelta(sqlite);
  console.log(
    `first delta, from the append to a viewer of another process, p50 and p99 of ${words}:`,
  );
  console.log(`    ${sqlite.name}: ${delays(alone)}`);
  for (const location of [postgres, cluster]) {
    const delay = await firstDelta(location);
    const added = { p50: delay.p50 - alone.p50, p99: delay.p99 - alone.p99 };
    console.log(`    ${location.name}: ${delays(delay)}, which adds ${delays(added)}`);
  }
}

async function firstDelta(location: StoreLocation): Promise<ViewersReport> {
  const session: SessionId = sessionId(`first delta through ${location.name}`.replaceAll(' ', '-'));
  await using writing = await openStore(location);
  const send = await textAppender(
    await writing.log.open(session, { leaseMs: Number.POSITIVE_INFINITY }),
  );
  await using serving = await startServerProcess(location);
  await using viewers = await Viewers.start(serving.port, 1);
  await viewers.connect(`/${session}`, 'item_started');
  const all = await viewers.expect('#last#', { isTimed: true, isFresh: true });
  for (let index = 1; index <= words; index++) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const time = (performance.timeOrigin + performance.now()).toFixed(4);
    await send(`@${time}@${index === words ? '#last#' : ''} `);
  }
  return await all();
}
