import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../create-agent.ts';
import { withDelay, withMethods } from '../testing/test-doubles.ts';
import { runToEnd, VirtualClock } from '../testing/virtual-time.ts';

/** Returns an agent whose log needs some time for each write, and the calls of `follow`. */
function slowAgent(writeMs: number) {
  const clock = new VirtualClock();
  const wait = () => new Promise<void>((resolve) => void clock.after(writeMs, resolve));
  const stored = memoryLog({ clock });
  const followed: number[] = [];
  const follow: Log['follow'] = (...given) => {
    followed.push(clock.now());
    return stored.follow(...given);
  };
  const slow = withDelay(stored, async (drafts) => {
    if (drafts.length > 0) await wait();
  });
  const log = withMethods(slow, { follow });
  const provider = scriptedProvider(['It rains.'], { clock });
  return { clock, followed, agent: createAgent({ provider, log, clock }) };
}

describe('21: a run whose writes take long', () => {
  test('does not ask the log for records that the response to a write contains', async () => {
    const { agent, clock, followed } = slowAgent(400);
    const { text } = await runToEnd(clock, agent.run('Does it rain?').result);
    expect(text).toBe('It rains.');
    expect(followed).toEqual([]);
  });

  test('asks the log after about a second, so that a stalled write does not keep commands away', async () => {
    const { agent, clock, followed } = slowAgent(5000);
    const startedAt = clock.now();
    await runToEnd(clock, agent.run('Does it rain?').result);
    const [first = 0] = followed;
    expect(first - startedAt).toBeGreaterThanOrEqual(1000);
    expect(first - startedAt).toBeLessThan(2000);
  });
});
