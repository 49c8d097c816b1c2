import { type Batch, type DraftRecord, partId } from '@millrace/core';
import { expect, test } from 'vitest';
import { TurnWriter } from './turn-context.ts';

const batch: Batch = { after: 0, through: 0, records: [] };
const piece = (length: number): DraftRecord => ({
  ...{ turn: 1, attempt: 1 },
  delta: { type: 'append_text', partId: partId(1, 1, 'a'), at: 0, chunk: 'x'.repeat(length) },
});

/** Returns the number of writes that the writer accepts while the log does not respond. */
async function takenOf(length: number): Promise<number> {
  const stored: (() => void)[] = [];
  const append = () => new Promise<Batch>((resolve) => stored.push(() => resolve(batch)));
  const flow = new TurnWriter({ append });
  let taken = 0;
  const all = (async () => {
    for (; taken < 1000; taken++) await flow.add([piece(length)]);
  })();
  await new Promise((resolve) => setImmediate(resolve));
  const waitingAt = taken;
  while (taken < 1000) {
    for (const resolve of stored.splice(0)) resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await all;
  return waitingAt;
}

test('the writer waits when much data is pending and continues when it is stored', async () => {
  expect(await takenOf(1)).toBeLessThan(300);
  expect(await takenOf(1)).toBeGreaterThan(100);
});

test('long chunks reach the limit sooner than many short ones', async () => {
  expect(await takenOf(300_000)).toBeLessThan(5);
});

test('errors of the log reach the writer, at the latest at the end', async () => {
  const flow = new TurnWriter({ append: () => Promise.reject(new Error('The disk is full')) });
  await flow.add([piece(1)]);
  await expect(flow.flush()).rejects.toThrow('The disk is full');
  await expect(flow.add([piece(1)])).rejects.toThrow('The disk is full');
});
