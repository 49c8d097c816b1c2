import { type SessionId, sessionId } from '@millrace/core';
import { delays } from '../server/fan-out.ts';
import { speech } from '../server/servers.ts';
import { Viewers, type ViewersReport } from '../server/viewers.ts';
import { startServing } from './serving.ts';
import { openPlace, type Place, type Stores } from './stores.ts';

const words = 200;
/** Long enough that each is the first of a while, as an answer's first delta is. */
const pauseMs = 50;

/** From an append in one process to the moment that a viewer of another has it. */
export async function compareFirstDelta({ sqlite, postgres, cluster }: Stores): Promise<void> {
  const alone = await firstDelta(sqlite);
  console.log(`first delta, append here to a viewer of another process, p50 and p99 of ${words}:`);
  console.log(`    ${sqlite.name}: ${delays(alone)}`);
  for (const place of [postgres, cluster]) {
    const heard = await firstDelta(place);
    const added = { p50: heard.p50 - alone.p50, p99: heard.p99 - alone.p99 };
    console.log(`    ${place.name}: ${delays(heard)}, which adds ${delays(added)}`);
  }
}

async function firstDelta(place: Place): Promise<ViewersReport> {
  const session: SessionId = sessionId(`first delta through ${place.name}`.replaceAll(' ', '-'));
  await using writing = await openPlace(place);
  const say = await speech(await writing.log.open(session, { leaseMs: Number.POSITIVE_INFINITY }));
  await using serving = await startServing(place);
  await using viewers = await Viewers.start(serving.port, 1);
  await viewers.connect(`/${session}`, 'item_started');
  const all = await viewers.expect('#last#', { isTimed: true, isFresh: true });
  for (let index = 1; index <= words; index++) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const time = (performance.timeOrigin + performance.now()).toFixed(4);
    await say(`@${time}@${index === words ? '#last#' : ''} `);
  }
  return await all();
}
