import { expect, test } from 'vitest';
import { systemClock } from '../contract/clock.ts';
import { FetchedRows } from './fetched-rows.ts';
import { PrefetchCommitQueue, type PrefetchWriter } from './prefetch-commits.ts';

// A client uploads long files without a pause. All clients share the only connection for writing.

/** Runs transactions without a store. `lengths` has the lengths of the blobs of each transaction. */
function fakeStore() {
  const lengths: (readonly number[])[] = [];
  const writer: PrefetchWriter = {
    hasBegun: true,
    async transact(work) {
      // A real store answers in a later round of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      const { draft, outcomes } = work(new FetchedRows());
      // The name of a blob contains its length, so that the test needs no large contents.
      lengths.push([...draft.blobChanges.puts.keys()].map((hash) => Number(hash.split(' ')[1])));
      return outcomes;
    },
    affectsAllWrites: () => false,
    close: async () => {},
  };
  const queue = new PrefetchCommitQueue({ writer, clock: systemClock, intervalMs: 0 });
  let blobs = 0;
  let stored = 0;
  const put = async (length: number) => {
    const hash = `${blobs++} ${length}`;
    await queue.run((tx) => tx.putBlob(hash, new Uint8Array(), 0), { blobBytes: length });
    stored++;
  };
  return { queue, lengths, put, storedCount: () => stored };
}

const mebibyte = 2 ** 20;
const sum = (lengths: readonly number[]) => lengths.reduce((total, length) => total + length, 0);

test.each([
  ['long uploads', 80, 9 * mebibyte],
  ['uploads that are just long', 800, 65_537],
])('18.1096: attack: the writes of others wait for many %s', async (_, count, length) => {
  const { queue, lengths, put, storedCount } = fakeStore();
  const uploads = Promise.all(Array.from({ length: count }, () => put(length)));
  for (let step = 0; step < 5; step++) {
    const before = lengths.length;
    await queue.run(() => {});
    // The transaction that runs already, one with uploads, and the one of this write.
    expect(lengths.length - before).toBeLessThanOrEqual(3);
  }
  expect(storedCount()).toBeLessThan(count / 2);
  await uploads;
  expect(lengths.flat()).toHaveLength(count);
  for (const all of lengths) expect(all.length === 1 || sum(all) <= 2 * mebibyte).toBe(true);
});

test('18.1096: attack: one transaction stores many short uploads', async () => {
  const { lengths, put } = fakeStore();
  await Promise.all(Array.from({ length: 800 }, () => put(65_536)));
  expect(lengths.flat()).toHaveLength(800);
  for (const all of lengths) expect(sum(all)).toBeLessThanOrEqual(2 * mebibyte);
});

test('18.1097: the uploads of a client do not wait forever while others write', async () => {
  const { queue, put, storedCount } = fakeStore();
  const all = Promise.all(Array.from({ length: 20 }, () => put(9 * mebibyte)));
  let writes = 0;
  while (storedCount() < 20) {
    await queue.run(() => {});
    writes++;
  }
  await all;
  // At least every second transaction stores an upload.
  expect(writes).toBeLessThanOrEqual(41);
});
