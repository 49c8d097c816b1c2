import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import type { Log } from '../contract/log.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import { newSession } from '../storage/session-row.ts';
import { marker } from '../suite/drafts.ts';
import { TestClock } from '../suite/test-clock.ts';
import { LeaseJudge } from './lease-clock.ts';

const session = sessionId('s');
const leaseMs = 15_000;
const hourMs = 3_600_000;
const folder = mkdtempSync(join(tmpdir(), 'lease-clock-'));

afterEach(() => vi.restoreAllMocks());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function stepWallClock(ms: number): void {
  const { now } = Date;
  vi.spyOn(Date, 'now').mockImplementation(() => now() + ms);
}

test.each<[string, number, () => Log]>([
  ['memory', hourMs, memoryLog],
  ['memory', -hourMs, memoryLog],
  ['SQLite', hourMs, () => sqliteLog({ path: join(folder, 'ahead.db') })],
  ['SQLite', -hourMs, () => sqliteLog({ path: join(folder, 'behind.db') })],
])('21.C: %s: a clock that is set by %d ms takes no lease', async (_, ms, open) => {
  const log = open();
  const ada = await log.open(session, { leaseMs });
  stepWallClock(ms);
  await expect(log.open(session)).rejects.toMatchObject({ code: 'held' });
  await ada.append([marker('on')]);
  const { expiresAt = 0 } = (await log.info(session))?.lease ?? {};
  expect(Math.abs(expiresAt - Date.now() - leaseMs)).toBeLessThan(leaseMs);
  await log.close();
});

/** A judge with the clock `id`, which the returned function moves. */
function judge(id: string) {
  const time = { now: 0 };
  const leases = new LeaseJudge({
    clock: new TestClock(),
    leaseClock: { id, now: () => time.now },
  });
  return { leases, pass: (ms: number) => (time.now += ms) };
}

function heldBy(leases: LeaseJudge, epoch = 1) {
  const row = newSession(session, { made: 1, incarnation: 1 }, 0);
  const lease = { holder: 'ada', process: undefined, ...leases.times(leaseMs) };
  return { ...row, epoch, lease };
}

describe('21.C: a lease of another clock', () => {
  test('is free when it was seen unchanged for its duration, and not before', () => {
    const [ada, bob] = [judge('one boot'), judge('another boot')];
    ada.pass(5 * leaseMs);
    const row = heldBy(ada.leases);
    expect(bob.leases.remainingMs(row)).toBe(leaseMs);
    bob.pass(leaseMs - 1);
    expect(bob.leases.remainingMs(row)).toBe(1);
    bob.pass(1);
    expect(bob.leases.remainingMs(row)).toBe(0);
  });

  test('stays held while its holder renews it', () => {
    const [ada, bob] = [judge('one boot'), judge('another boot')];
    for (let renewals = 0; renewals < 5; renewals++) {
      expect(bob.leases.remainingMs(heldBy(ada.leases))).toBe(leaseMs);
      ada.pass(leaseMs / 3);
      bob.pass(leaseMs - 1);
    }
  });

  test('that has the same name after a restart does not outlive its duration', () => {
    const [ada, bob] = [judge('a machine without boot id'), judge('a machine without boot id')];
    ada.pass(100 * leaseMs);
    const row = heldBy(ada.leases);
    expect(bob.leases.remainingMs(row)).toBe(leaseMs);
    bob.pass(leaseMs);
    expect(bob.leases.remainingMs(row)).toBe(0);
  });
});
