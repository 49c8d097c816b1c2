import { createAgent } from '@millrace/agent';
import { scriptedProvider } from '@millrace/providers/scripted';
import { median } from '../server/fan-out.ts';
import { openPlace, type Place, type Stores } from './stores.ts';

const runsAtOnce = 200;
const rounds = 3;
const answer = 'The wheel turns and the stones turn with it, as long as there is water. '.repeat(8);

/** Many runs at once in one process, each of which streams an answer to the log. */
export async function compareRuns({ sqlite, cluster }: Stores): Promise<void> {
  const places: readonly Place[] = [{ name: 'memory' }, sqlite, cluster];
  console.log(`${runsAtOnce} runs at once, about 170 deltas each:`);
  let floor: number | undefined;
  for (const place of places) {
    const ms = await timeOfRuns(place);
    floor ??= ms;
    const rate = Math.round((runsAtOnce * 1000) / ms);
    console.log(
      `    ${place.name}: ${ms.toFixed(0)} ms, ${rate} runs/s, ${(ms / floor).toFixed(1)} × memory`,
    );
  }
}

async function timeOfRuns(place: Place): Promise<number> {
  await using opened = await openPlace(place);
  const { log } = opened;
  const times: number[] = [];
  for (let round = -1; round < rounds; round++) {
    const provider = scriptedProvider(
      Array.from({ length: runsAtOnce }, () => answer),
      { pieces: 'token' },
    );
    const agent = createAgent({ provider, log });
    const start = performance.now();
    const runs = Array.from({ length: runsAtOnce }, () => agent.run('Does it turn?').result);
    const results = await Promise.all(runs);
    const broken = results.find(({ stop }) => stop.reason !== 'stop');
    if (broken !== undefined) throw new Error(`a run stopped with ${broken.stop.reason}`);
    if (round >= 0) times.push(performance.now() - start);
  }
  return median(times);
}
