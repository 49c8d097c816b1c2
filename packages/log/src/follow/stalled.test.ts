import { type Batch, countingIds, DeltaWriter, itemId, sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import type { Driver } from '../contract/log.ts';
import { LocalLog } from '../engine/local-log.ts';
import { MemoryStore } from '../memory/memory-log.ts';

const session = sessionId('watched');
const at = { turn: 1, attempt: 1 };

/**
 * Appends texts, one record each. It uses several parts, because the length of a part is limited.
 */
async function speaker(driver: Driver) {
  const item = itemId('answer');
  const writer = new DeltaWriter({ itemId: item, ...at, ids: countingIds() });
  let text = writer.text();
  await driver.append([{ ...at, fact: { type: 'item_started', itemId: item, kind: 'assistant' } }]);
  return (chunk: string) => {
    if (text.length > 7 * 2 ** 20) {
      text.commit();
      text = writer.text();
    }
    text.append(chunk);
    return driver.append(writer.take().map((delta) => ({ ...at, delta })));
  };
}

const windowBytes = 2 ** 20;
const chunk = 'x'.repeat(8192);
const chunks = 6400;

test('law 11: 200 stalled readers of a stream of 50 MB cost less than 200 times the cap, and the writer never waits', async () => {
  const log = new LocalLog(new MemoryStore(), { commitIntervalMs: 0 });
  const say = await speaker(await log.open(session));
  /** The size of each reader's last batch, which the reader itself must release. */
  const given: number[] = [];
  let most = 0;
  for (let count = 0; count < chunks; count++) {
    await say(chunk);
    // The readers start at different offsets, read one batch, and stall.
    if (count % (chunks / 200) === 0) {
      const { value } = await log.follow(session, { from: count })[Symbol.asyncIterator]().next();
      given.push(JSON.stringify((value as Batch).records).length);
    }
    most = Math.max(most, log.bufferedBytes);
  }
  expect(given).toHaveLength(200);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(windowBytes + 2 * chunk.length + 100);
  for (const length of given) expect(length).toBeLessThanOrEqual(windowBytes + 2 * chunk.length);
  // A late reader receives everything, in pages.
  let length = 0;
  const late = log.follow(session, { from: 1 })[Symbol.asyncIterator]();
  while (length < chunks * chunk.length) {
    const { value } = (await late.next()) as { value: Batch };
    for (const { delta } of value.records)
      if (delta?.type === 'append_text') length += delta.chunk.length;
  }
  expect(length).toBe(chunks * chunk.length);
  await log.close();
});

test('a reader that exceeds `maxLag` fails with its cursor', async () => {
  const log = new LocalLog(new MemoryStore(), { commitIntervalMs: 0 });
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
