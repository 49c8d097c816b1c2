import { sessionId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { LocalLog } from '../engine/local-log.ts';
import { MemoryStore } from '../memory/memory-log.ts';
import { wholeTurn } from '../suite/drafts.ts';
import { retain } from './retain.ts';

const session = sessionId('s');

/** A store that counts the records that its readers receive. */
class CountingStore extends MemoryStore {
  recordsRead = 0;
  /** The most records that one transaction read. */
  mostInTransaction = 0;

  override transact<T>(work: Parameters<MemoryStore['transact']>[0]): T {
    const before = this.recordsRead;
    const value = super.transact(work) as T;
    this.mostInTransaction = Math.max(this.mostInTransaction, this.recordsRead - before);
    return value;
  }

  override records(...args: Parameters<MemoryStore['records']>) {
    const [id, after, maxBytes] = args;
    // Small pages, so that reading in pages differs from reading everything.
    const found = super.records(id, after, Math.min(maxBytes, 2000));
    this.recordsRead += found.length;
    return found;
  }
}

async function sessionWithTurns(count: number) {
  const store = new CountingStore();
  const log = new LocalLog(store, { commitIntervalMs: 0 });
  const driver = await log.open(session);
  const append = async (turn: number) => void (await driver.append(wholeTurn(turn, [...'abcdef'])));
  for (let turn = 1; turn <= count; turn++) await append(turn);
  store.recordsRead = 0;
  store.mostInTransaction = 0;
  return { log, store, append };
}

describe('21.E: the cost of settling old turns', () => {
  test('is linear in the number of turns', async () => {
    const [short, long] = [await sessionWithTurns(10), await sessionWithTurns(40)];
    for (const { log } of [short, long]) await retain(log, { turnsWithDeltas: 1 });
    expect(long.store.recordsRead).toBeLessThan(4.5 * short.store.recordsRead);
    expect(long.store.mostInTransaction).toBe(short.store.mostInTransaction);
  });

  test('is the same for one more turn in a short and in a long session', async () => {
    const costs: number[] = [];
    for (const count of [10, 80]) {
      const { log, store, append } = await sessionWithTurns(count);
      await retain(log, { turnsWithDeltas: 2 });
      await append(count + 1);
      store.recordsRead = 0;
      expect(await retain(log, { turnsWithDeltas: 2 })).toMatchObject({ settledTurns: 1 });
      costs.push(store.recordsRead);
    }
    expect(costs[1]).toBe(costs[0]);
  });

  test('of one turn does not hold a transaction for the whole session', async () => {
    const { log, store } = await sessionWithTurns(60);
    expect(await log.settle(session, 30)).toBe(true);
    expect(store.mostInTransaction).toBeLessThan(100);
  });
});

describe('settle with the range of the turn', () => {
  test('refuses a range that is none', async () => {
    const { log } = await sessionWithTurns(1);
    const settled = log.settle(session, 1, { within: [5, 2] });
    await expect(settled).rejects.toMatchObject({ code: 'bad_option' });
  });

  test('searches the turn if the range does not contain all of it', async () => {
    const { log } = await sessionWithTurns(3);
    const whole = await sessionWithTurns(3);
    expect(await log.settle(session, 2, { within: [1, 20] })).toBe(true);
    expect(await whole.log.settle(session, 2)).toBe(true);
    const content = async (from: typeof log) =>
      (await from.read(session)).records.map(({ time: _now, ...record }) => record);
    expect(await content(log)).toEqual(await content(whole.log));
  });
});
