import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { storeTmpdir } from '../../../core/src/testing/store-tmpdir.ts';
import { LocalLog } from '../engine/local-log.ts';
import { MemoryStore } from '../memory/memory-log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import { marker, markers, wholeTurn } from '../suite/drafts.ts';
import { Follower, foldedSummary, readBatches, summaryOf } from '../suite/follower.ts';
import { type LogSubject, logCases, TestClock } from '../suite/index.ts';
import { eventLoopSettled } from '../suite/test-clock.ts';
import { casesBehindLayer } from '../testing/law-runs.ts';
import { type Delivery, LossyBus } from '../testing/lossy-bus.ts';

const session = sessionId('s');
const folder = mkdtempSync(join(storeTmpdir(), 'millrace-bus-'));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Two logs on one store without a watcher. A log receives the other's records only through the bus.
 */
function pair(): { readonly bus: LossyBus; readonly logs: readonly [LocalLog, LocalLog] } {
  const [bus, store, clock] = [new LossyBus(), new MemoryStore(), new TestClock()];
  const log = () => new LocalLog(store, { clock, bus, commitIntervalMs: 0 });
  return { bus, logs: [log(), log()] };
}

const fates = ['arrives', 'is lost', 'comes twice', 'comes late', 'comes without records'] as const;

describe('a log with a bus', () => {
  test('delivers copies to followers in another process without reading the store', async () => {
    const { bus, logs } = pair();
    const driver = await logs[0].open(session);
    await driver.append([marker('first')]);
    const follower = await new Follower(logs[1], session).reach(1);
    void follower.request();
    await eventLoopSettled();
    const { records } = await driver.append(markers(3));
    expect((await follower.step())?.records).toEqual(records);
    expect(logs[1].bufferedBytes).toBeGreaterThan(0);
    await driver.closeSession();
    await follower.leave();
    expect(bus.published.at(-1)).toMatchObject({ through: 4, isClosed: true, records: [] });
    expect(bus.listeners).toBe(0);
  });

  test('ends followers in other processes with the session, and removes the session from the bus', async () => {
    const { bus, logs } = pair();
    const driver = await logs[0].open(session);
    await driver.append(markers(2));
    const ended = new Follower(logs[1], session, { until: 'closed' }).end();
    await eventLoopSettled();
    await driver.closeSession();
    expect((await ended).through).toBe(2);
    await logs[0].delete(session);
    expect(bus.forgotten).toEqual([session]);
  });

  test('does not deliver records that another process rewrote', async () => {
    const { logs } = pair();
    const driver = await logs[0].open(session);
    const old = new Follower(logs[1], session);
    void old.request();
    await eventLoopSettled();
    const { through } = await driver.append(wholeTurn(1, ['xyzzy', 'fine']));
    await old.reach(through);
    await logs[0].settle(session, 1);
    const late = await new Follower(logs[1], session).reach(through);
    expect(
      late.batches.flatMap(({ records }) => records).some(({ fact }) => fact?.type === 'snapshot'),
    ).toBe(true);
    await Promise.all([old.leave(), late.leave()]);
  });

  test('law 5: if the bus loses, repeats, delays or shortens notices, followers still receive everything', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom<Delivery>(...fates), { minLength: 1, maxLength: 40 }),
        fc.array(fc.nat(2), { minLength: 1, maxLength: 40 }),
        async (planned, who) => {
          const { bus, logs } = pair();
          let told = 0;
          bus.deliverAs(() => planned[told++ % planned.length] ?? 'arrives');
          const driver = await logs[0].open(session);
          const followers = logs.map((log) => new Follower(log, session));
          for (const follower of followers) void follower.request();
          for (const [index, draft] of wholeTurn(1, [...'abcdefghijklmnop']).entries()) {
            const number = who[index % who.length];
            if (number === 0) await logs[1].submit(session, {}, `key ${index}`);
            await driver.append([draft]);
          }
          bus.deliverAs(() => 'arrives');
          bus.announceMissed();
          const whole = foldedSummary(session, await readBatches(logs[0], session));
          for (const follower of followers) {
            await follower.reach(whole.through);
            expect(summaryOf(follower.folder.state)).toEqual(whole);
            await follower.leave();
          }
        },
      ),
    );
  });
});

const onMemory: LogSubject = {
  isDurable: false,
  create: async (clock) => {
    const bus = new LossyBus();
    const open = async () => new LocalLog(new MemoryStore(), { clock, bus, commitIntervalMs: 0 });
    return { open, remove: async () => {} };
  },
};

let files = 0;
const onSqlite: LogSubject = {
  isDurable: true,
  create: async (clock) => {
    const [bus, path] = [new LossyBus(), join(folder, `${files++}.db`)];
    let notices = 0;
    bus.deliverAs(() => fates[notices++ % fates.length] ?? 'arrives');
    return { open: async () => sqliteLog({ path, clock, bus }), remove: async () => {} };
  },
};

describe.each([
  ['memory', logCases(onMemory)],
  ['SQLite', casesBehindLayer(onSqlite)],
])('a log in %s with a bus passes the conformance suite', (_, cases) => {
  for (const { name, run } of cases) test(name, run);
});
