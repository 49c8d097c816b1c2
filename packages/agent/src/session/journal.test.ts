import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { createAgent } from '../create-agent.ts';
import { pause } from '../testing/test-agent.ts';
import { runToEnd, VirtualClock } from '../testing/virtual-time.ts';

/** A log whose commits take some time of the clock. `follows` counts the calls of `follow`. */
function slowLog(clock: VirtualClock, commitMs: number) {
  const counted = { follows: 0 };
  const log = memoryLog();
  const [open, follow] = [log.open.bind(log), log.follow.bind(log)];
  log.open = async (...args) => {
    const driver = await open(...args);
    const append = driver.append.bind(driver);
    driver.append = async (drafts) => {
      const batch = await append(drafts);
      await pause(clock, commitMs);
      return batch;
    };
    return driver;
  };
  log.follow = (...args) => {
    counted.follows++;
    return follow(...args);
  };
  return { log, counted };
}

test('21: a run does not follow its session while its own writes wait for a slow store', async () => {
  const clock = new VirtualClock();
  const { log, counted } = slowLog(clock, 1_000);
  const agent = createAgent({ log, clock, provider: scriptedProvider(['It is sunny.']) });
  const { stop } = await runToEnd(clock, agent.run('How is the weather?').result);
  expect(stop.reason).toBe('stop');
  expect(counted.follows).toBe(0);
});
