import { compareFanOut } from './fan-out.ts';
import { compareFirstDelta } from './first-delta.ts';
import { compareRuns } from './runs.ts';
import { startStores } from './stores.ts';

/** What it costs to be several: Postgres and Redis next to one process with a file, or with nothing. */
export async function compareCluster(): Promise<void> {
  console.log(
    '\nPast one machine: two servers on Postgres (fsync on) and Redis, all on this machine',
  );
  await using stores = await startStores();
  await compareFirstDelta(stores);
  await compareFanOut(stores);
  await compareRuns(stores);
}
