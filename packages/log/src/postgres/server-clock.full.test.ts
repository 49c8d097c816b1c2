import { sessionId } from '@millrace/core';
import { afterEach, expect, test, vi } from 'vitest';
import { describeOnPostgres, usePostgres } from '../testing/start-postgres.ts';
import { postgresLog } from './postgres-log.ts';
import { ServerClock } from './server-clock.ts';

const minuteMs = 60_000;
const session = sessionId('s');

test('a slow answer does not set the clock back, and a clock that was set is followed', () => {
  const clock = new ServerClock();
  vi.spyOn(performance, 'now').mockReturnValue(5000);
  clock.set(1_000_300);
  expect(clock.now()).toBe(1_000_300);
  clock.set(1_000_100);
  expect(clock.now()).toBe(1_000_300);
  clock.set(1_000_000 - minuteMs);
  expect(clock.now()).toBe(1_000_000 - minuteMs);
  clock.set(1_000_000 + minuteMs);
  vi.spyOn(performance, 'now').mockReturnValue(5007);
  expect(clock.now()).toBe(1_000_007 + minuteMs);
});

afterEach(() => {
  vi.restoreAllMocks();
});

describeOnPostgres()('on a machine whose clock is wrong', () => {
  const server = usePostgres();

  test.each([
    ['ahead', minuteMs],
    ['behind', -minuteMs],
  ])('%s, leases are neither taken early nor kept longer', async (_, skewMs) => {
    const options = { url: server().url, schema: `clock_${skewMs < 0 ? 'behind' : 'ahead'}` };
    const right = postgresLog(options);
    // A detached lease has no process that could be checked.
    await right.open(session, { holder: 'the right one', isDetached: true });
    const { now } = Date;
    vi.spyOn(Date, 'now').mockImplementation(() => now() + skewMs);
    const wrong = postgresLog(options);
    expect(await wrong.list({ isWaiting: true })).toEqual([]);
    await expect(wrong.open(session)).rejects.toMatchObject({ code: 'held' });
    await wrong.open(sessionId('own'), { leaseMs: 15_000 });
    const expiresAt = (await wrong.info(sessionId('own')))?.lease?.expiresAt ?? 0;
    expect(Math.abs(expiresAt - now() - 15_000)).toBeLessThan(minuteMs / 2);
    await wrong.close();
    await right.close();
  });
});
