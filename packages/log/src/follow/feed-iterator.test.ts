import { getEventListeners } from 'node:events';
import { type Batch, sessionId } from '@millrace/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Driver, FollowOptions } from '../contract/log.ts';
import { LocalLog } from '../engine/local-log.ts';
import { MemoryStore } from '../memory/memory-log.ts';
import { markers } from '../suite/drafts.ts';
import { eventLoopSettled } from '../suite/test-clock.ts';

const session = sessionId('s');
const done = { done: true, value: undefined };

let log: LocalLog;
let driver: Driver;
/** Iterators that have paused to let other work run. */
let pauses: (() => void)[];

beforeEach(async () => {
  pauses = [];
  const clock = {
    now: () => 0,
    after: (ms: number, run: () => void) => {
      if (ms === 0) pauses.push(run);
      return () => {};
    },
  };
  log = new LocalLog(new MemoryStore(), { clock, commitIntervalMs: 0 });
  driver = await log.open(session);
});
afterEach(() => log.close());

const follow = (options?: FollowOptions) =>
  log.follow(session, options)[Symbol.asyncIterator]() as AsyncIterableIterator<
    Batch,
    undefined,
    undefined
  >;

test('batches requested in advance arrive in order, each once', async () => {
  const batches = follow();
  const asked = [batches.next(), batches.next(), batches.next()];
  for (const count of [1, 2, 3]) {
    await driver.append(markers(count));
    await eventLoopSettled();
  }
  const through = (await Promise.all(asked)).map(({ value }) => value?.through);
  expect(through).toEqual([1, 3, 6]);
});

test('a reader that stops ends its pending requests and returns the feed', async () => {
  const batches = follow();
  await driver.append(markers(1));
  await batches.next();
  await driver.append(markers(1));
  expect(log.bufferedBytes).toBeGreaterThan(0);
  await batches.next();
  const asked = [batches.next(), batches.next()];
  await eventLoopSettled();
  expect(await batches.return?.()).toEqual(done);
  expect(await Promise.all(asked)).toEqual([done, done]);
  expect(await batches.next()).toEqual(done);
  expect(log.bufferedBytes).toBe(0);
});

test('a reader that stops before the first batch never starts', async () => {
  const batches = log.follow(sessionId('nowhere'))[Symbol.asyncIterator]();
  await batches.return?.();
  expect(await batches.next()).toEqual(done);
});

test('an error passed to throw() is rethrown and ends the iteration', async () => {
  const batches = follow();
  const asked = batches.next();
  await eventLoopSettled();
  const reason = new RangeError('enough');
  await expect(batches.throw?.(reason)).rejects.toBe(reason);
  expect(await asked).toEqual(done);
  expect(await batches.next()).toEqual(done);
});

test('an error ends the iteration', async () => {
  const batches = follow({ from: 99 });
  await expect(batches.next()).rejects.toMatchObject({ code: 'bad_offset' });
  expect(await batches.next()).toEqual(done);
});

test('a signal returns the feed immediately, even between reads, and the listener is removed at the end', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const [ended, aborted] = [follow({ signal }), follow({ signal })];
  for (const batches of [ended, aborted]) {
    const first = batches.next();
    await eventLoopSettled();
    await driver.append(markers(1));
    await first;
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(2);
  await ended.return?.();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  expect(log.bufferedBytes).toBeGreaterThan(0);
  controller.abort();
  expect(log.bufferedBytes).toBe(0);
  expect(await aborted.next()).toEqual(done);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('after eight batches without waiting it yields to other work', async () => {
  const batches = follow();
  for (let count = 0; count < 8; count++) {
    await driver.append(markers(1));
    await batches.next();
  }
  let hasCome = false;
  const ninth = batches.next().finally(() => {
    hasCome = true;
  });
  await driver.append(markers(3));
  await eventLoopSettled();
  expect(hasCome).toBe(false);
  expect(pauses).toHaveLength(1);
  pauses.pop()?.();
  expect((await ninth).value).toMatchObject({ after: 8, through: 11 });
});

test('a reader can stop during a pause', async () => {
  const batches = follow();
  for (let count = 0; count < 8; count++) {
    await driver.append(markers(1));
    await batches.next();
  }
  const ninth = batches.next();
  await eventLoopSettled();
  await batches.return?.();
  expect(await ninth).toEqual(done);
});
