import { type Batch, countingIds, DeltaWriter, itemId, sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import type { Driver } from '../contract/log.ts';
import { LocalLog } from '../local/local-log.ts';
import { MemoryShelf } from '../memory/memory-shelf.ts';

const session = sessionId('watched');
const at = { turn: 1, attempt: 1 };

/** Appends texts to one part, each a record. */
async function speaker(driver: Driver) {
  const item = itemId('answer');
  const writer = new DeltaWriter({ itemId: item, ...at, ids: countingIds() });
  const text = writer.text();
  await driver.append([{ ...at, fact: { type: 'item_started', itemId: item, kind: 'assistant' } }]);
  return (chunk: string) => {
    text.append(chunk);
    return driver.append(writer.take().map((delta) => ({ ...at, delta })));
  };
}

const windowBytes = 2 ** 20;

test('law 11: 200 stalled readers of a long stream hold a cursor each, and the writer never waits', async () => {
  const log = new LocalLog(new MemoryShelf(), { commitIntervalMs: 0 });
  const say = await speaker(await log.open(session));
  const readers = Array.from({ length: 200 }, () => log.follow(session)[Symbol.asyncIterator]());
  await Promise.all(readers.map((reader) => reader.next()));
  const chunk = 'x'.repeat(8192);
  let most = 0;
  // 8 MiB is the most that one part may have: what counts is that it is far more than is held.
  for (let count = 0; count < 1000; count++) {
    await say(chunk);
    most = Math.max(most, log.bufferedBytes);
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(windowBytes + 2 * chunk.length + 100);
  // One that comes late gets all of it, in pages.
  let length = 0;
  const late = log.follow(session, { from: 1 })[Symbol.asyncIterator]();
  while (length < 1000 * chunk.length) {
    const { value } = (await late.next()) as { value: Batch };
    for (const { delta } of value.records)
      if (delta?.type === 'append_text') length += delta.chunk.length;
  }
  expect(length).toBe(1000 * chunk.length);
  await log.close();
});

test('a reader that falls further behind than it may is cut off with its cursor', async () => {
  const log = new LocalLog(new MemoryShelf(), { commitIntervalMs: 0 });
  const say = await speaker(await log.open(session));
  const reader = log.follow(session, { maxLag: 10 })[Symbol.asyncIterator]();
  const { value } = (await reader.next()) as { value: Batch };
  const next = reader.next();
  await say('a');
  await next;
  for (let count = 0; count < 20; count++) await say('b');
  await expect(reader.next()).rejects.toMatchObject({
    code: 'lagged',
    place: { cursor: expect.any(Number) },
  });
  expect(value.through).toBeGreaterThan(0);
  await log.close();
});
