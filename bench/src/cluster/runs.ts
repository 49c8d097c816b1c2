import { createAgent } from '@millrace/agent';
import { scriptedProvider } from '@millrace/providers/scripted';
import { median } from '../server/fan-out.ts';
import { openStore, type StoreLocation, type Stores } from './stores.ts';

const runsAtOnce = 200;
/** The JIT compiler needs some rounds before the times stay the same. */
const warmUpRounds = 5;
const rounds = 9;
const answer = 'The river rises and the fields fill with it, as long as there is water. '.repeat(8);

/** Measures many concurrent runs in one process. Each run streams an answer to the log. */
export async function compareRuns({ sqlite, cluster }: Stores): Promise<void> {
  const locations: readonly StoreLocation[] = [{ name: 'memory' }, sqlite, cluster];
  console.log(`${runsAtOnce} runs at once, about 170 deltas each:`);
  let floor: number | undefined;
  for (const location of locations) {
    const ms = await timeOfRuns(location);
    floor ??= ms;
    const rate = Math.round((runsAtOnce * 1000) / ms);
    console.log(
      `    ${location.name}: ${ms.toFixed(0)} ms, ${rate} runs/s, ${(ms / floor).toFixed(1)} × memory`,
    );
  }
}

async function timeOfRuns(location: StoreLocation): Promise<number> {
  await using opened = await openStore(location);
  const { log } = opened;
  const times: number[] = [];
  for (let round = -warmUpRounds; round < rounds; round++) {
    const provider = scriptedProvider(
      Array.from({ length: runsAtOnce }, () => answer),
      { pieces: 'token' },
    );
    const agent = createAgent({ provider, log });
    const start = performance.now();
    const runs = Array.from({ length: runsAtOnce }, () => agent.run('Does it rain?').result);
    const results = await Promise.all(runs);
    const broken = results.find(({ stop }) => stop.reason !== 'stop');
    if (broken !== undefined) throw new Error(`A run stopped with ${broken.stop.reason}`);
    if (round >= 0) times.push(performance.now() - start);
  }
  return median(times);
}
