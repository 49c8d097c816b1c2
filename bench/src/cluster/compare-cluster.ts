import { compareFanOut } from './fan-out.ts';
import { compareFirstDelta } from './first-delta.ts';
import { compareRuns } from './runs.ts';
import { startStores } from './stores.ts';

/** Measures the cost of several servers with Postgres and Redis, compared with one process. */
export async function compareCluster(): Promise<void> {
  console.log(
    '\nSeveral machines: two servers on Postgres (fsync on) and Redis, all on this machine',
  );
  await using stores = await startStores();
  await compareFirstDelta(stores);
  await compareFanOut(stores);
  await compareRuns(stores);
}
