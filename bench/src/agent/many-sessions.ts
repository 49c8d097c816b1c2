import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { createAgent } from '@millrace/agent';
import { type Log, memoryLog } from '@millrace/log';
import { SteadyModel } from './steady-model.ts';

const deltasPerSecond = 50;
const seconds = 5;
const acceptableMs = 50;
const resolutionMs = 5;

/**
 * Streams many sessions at once in one process and measures the event-loop delay. The models do not
 * wait for the process. If a word is read late, it is read together with the next one.
 */
export async function streamMany(): Promise<void> {
  let most = 0;
  for (const sessions of [100, 250, 500, 1000, 2000]) {
    const { loopMs, lateMs, busy, perRead } = await delaysWith(sessions);
    console.log(
      `${sessions} sessions at ${deltasPerSecond} deltas a second each: p99 of event-loop delay ${loopMs.toFixed(1)} ms, of a word received ${lateMs.toFixed(1)} ms after it was due; busy ${(100 * busy).toFixed(0)} %, ${perRead.toFixed(2)} words per read`,
    );
    if (loopMs < acceptableMs) most = sessions;
    else break;
  }
  console.log(`event-loop delay below ${acceptableMs} ms up to ${most} sessions`);
}

async function delaysWith(sessions: number) {
  const log = memoryLog();
  const lateness = createHistogram();
  const models = Array.from(
    { length: sessions },
    () => new SteadyModel(deltasPerSecond * seconds, 1000 / deltasPerSecond),
  );
  const listeners = models.map(async (model, index) => {
    // The starts are spread over a second, like those of real users.
    await setTimeout((index / sessions) * 1000);
    await listen(log, model, (lateMs) => lateness.record(1 + Math.max(0, Math.round(lateMs))));
  });
  await setTimeout(1200);
  lateness.reset();
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const before = performance.eventLoopUtilization();
  await Promise.all(listeners);
  delay.disable();
  const { utilization: busy } = performance.eventLoopUtilization(before);
  await log.close();
  const sum = (of: (model: SteadyModel) => number) => models.reduce((all, one) => all + of(one), 0);
  return {
    // The sampling interval is subtracted, because the measured value includes it.
    loopMs: Math.max(0, delay.percentile(99) / 1e6 - resolutionMs),
    lateMs: lateness.percentile(99) - 1,
    busy,
    perRead: sum(({ words }) => words) / sum(({ reads }) => reads),
  };
}

/** Reads a whole run and reports the delay of each text. */
async function listen(
  log: Log,
  model: SteadyModel,
  onText: (lateMs: number) => void,
): Promise<void> {
  const run = createAgent({ provider: model.provider, log }).run('Start');
  for await (const event of run.events) {
    if (event.type === 'assistant_text_delta') onText(performance.now() - model.dueAt(event.at));
  }
}
