import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';

const deltasPerSecond = 50;
const seconds = 4;
const bearableMs = 50;

/** Many sessions stream at once in one process: how late is everything else? */
export async function streamMany(): Promise<void> {
  let most = 0;
  for (const sessions of [100, 250, 500, 1000, 2000]) {
    const p99Ms = await delayWith(sessions);
    const line = `${sessions} sessions at ${deltasPerSecond} deltas a second each`;
    console.log(`${line}: event-loop delay p99 ${p99Ms.toFixed(1)} ms`);
    if (p99Ms < bearableMs) most = sessions;
    else break;
  }
  console.log(`below ${bearableMs} ms up to ${most} sessions`);
}

async function delayWith(sessions: number): Promise<number> {
  const text = 'word '.repeat(deltasPerSecond * seconds);
  const pauseMs = 1000 / deltasPerSecond;
  const log = memoryLog();
  const runs = Array.from({ length: sessions }, async (_, index) => {
    // Spread, as people are.
    await setTimeout((index / sessions) * 1000);
    const provider = scriptedProvider([text], { pieces: 'token', pauseMs });
    const run = createAgent({ provider, log }).run('Speak');
    let events = 0;
    for await (const _event of run.events) events++;
    return events;
  });
  await setTimeout(1200);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await Promise.all(runs);
  delay.disable();
  await log.close();
  // What it measures includes the time between two looks.
  return Math.max(0, delay.percentile(99) / 1e6 - 5);
}
