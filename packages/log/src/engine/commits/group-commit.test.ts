import { type DraftRecord, sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { MemoryStore } from '../../memory/memory-log.ts';
import { answerPart, marker } from '../../suite/drafts.ts';
import { eventLoopSettled, TestClock } from '../../suite/test-clock.ts';
import { LocalLog } from '../local-log.ts';

const intervalMs = 1000;

const text = (at: number): DraftRecord => ({
  ...{ turn: 1, attempt: 1 },
  delta: { type: 'append_text', partId: answerPart(1), at, chunk: 'x' },
});

async function openLog() {
  const clock = new TestClock();
  const log = new LocalLog(new MemoryStore(), { clock, commitIntervalMs: intervalMs });
  const opened = log.open(sessionId('s'));
  await clock.advance(intervalMs);
  return { clock, log, driver: await opened };
}

test('streamed text waits for the interval, and several appends share a transaction', async () => {
  const { clock, log, driver } = await openLog();
  await driver.append([marker('first')]);
  const before = log.transactions;
  let stored = 0;
  for (let at = 0; at < 3; at++) void driver.append([text(at)]).then(() => stored++);
  await eventLoopSettled();
  expect(stored).toBe(0);
  await clock.advance(intervalMs);
  expect([stored, log.transactions - before]).toEqual([3, 1]);
});

test('a fact does not wait for the interval, and takes earlier text with it', async () => {
  const { log, driver } = await openLog();
  await driver.append([marker('first')]);
  const before = log.transactions;
  const streamed = driver.append([text(0)]);
  const batch = await driver.append([marker('second')]);
  expect(await streamed).toMatchObject({ through: 2 });
  expect(batch).toMatchObject({ after: 2, through: 3 });
  expect(log.transactions - before).toBe(1);
});

test('facts of several sessions in one round of the event loop share a transaction', async () => {
  const { log } = await openLog();
  const before = log.transactions;
  const ids = Array.from({ length: 20 }, (_, index) => sessionId(`s${index}`));
  const drivers = await Promise.all(ids.map((id) => log.open(id)));
  await Promise.all(drivers.map((driver) => driver.append([marker('a')])));
  expect(log.transactions - before).toBeLessThanOrEqual(4);
});

test('a stream of appends renews the lease when a part of it is over', async () => {
  const { clock, log } = await openLog();
  const session = sessionId('leased');
  const driver = await log.open(session, { leaseMs: 16_000 });
  const expiry = async () => (await log.info(session))?.lease?.expiresAt ?? 0;
  const first = await expiry();
  await driver.append([marker('a')]);
  expect(await expiry()).toBe(first);
  clock.jump(2000);
  await driver.append([marker('b')]);
  expect(await expiry()).toBe(clock.now() + 16_000);
});
