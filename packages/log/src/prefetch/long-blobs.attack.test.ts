import { expect, test } from 'vitest';
import { systemClock } from '../contract/clock.ts';
import type { CommitQueue } from '../engine/commits/commit-queue.ts';
import { GroupCommit } from '../engine/commits/group-commit.ts';
import type { RecordStore, StoreTransaction } from '../storage/record-store.ts';
import { FetchedRows } from './fetched-rows.ts';
import { PrefetchCommitQueue, type PrefetchWriter } from './prefetch-commits.ts';

// A client uploads long files without a pause. All clients share the only connection for writing.

/**
 * Runs transactions without a store. `lengths` has the lengths of the blobs of each transaction. The kind of the store
 * is that of Postgres, or that of SQLite.
 */
function fakeStore(kind: 'asynchronous' | 'synchronous') {
  const lengths: (readonly number[])[] = [];
  // The name of a blob contains its length, so that the test needs no large contents.
  const lengthOf = (hash: string) => Number(hash.split(' ')[1]);
  const store = {
    transact<T>(work: (tx: StoreTransaction) => T): T {
      const own: number[] = [];
      lengths.push(own);
      return work({ putBlob: (hash: string) => own.push(lengthOf(hash)) } as never);
    },
  };
  const writer: PrefetchWriter = {
    hasBegun: true,
    async transact(work) {
      // A real store answers in a later round of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      const { draft, outcomes } = work(new FetchedRows());
      lengths.push([...draft.blobChanges.puts.keys()].map(lengthOf));
      return outcomes;
    },
    affectsAllWrites: () => false,
    close: async () => {},
  };
  const queue: CommitQueue =
    kind === 'asynchronous'
      ? new PrefetchCommitQueue({ writer, clock: systemClock, intervalMs: 0 })
      : // A long interval, so that no work is committed before `run` returns.
        new GroupCommit(store as RecordStore, { ...systemClock, now: () => 0 }, 1e6);
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

const kinds = ['asynchronous', 'synchronous'] as const;

test.each(
  kinds.flatMap((kind) => [
    ['long uploads', kind, 80, 9 * mebibyte] as const,
    ['uploads that are just long', kind, 800, 65_537] as const,
  ]),
)(
  '18.1096, 18.1220: attack: the writes of others wait for many %s: %s',
  async (_, kind, count, length) => {
    const { queue, lengths, put, storedCount } = fakeStore(kind);
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
  },
);

test.each(kinds)(
  '18.1096, 18.1221: attack: one transaction stores many short uploads: %s',
  async (kind) => {
    const { lengths, put } = fakeStore(kind);
    await Promise.all(Array.from({ length: 800 }, () => put(65_536)));
    expect(lengths.flat()).toHaveLength(800);
    for (const all of lengths) expect(sum(all)).toBeLessThanOrEqual(2 * mebibyte);
  },
);

test.each(kinds)(
  '18.1097, 18.1222: the uploads of a client do not wait forever while others write: %s',
  async (kind) => {
    const { queue, put, storedCount } = fakeStore(kind);
    const all = Promise.all(Array.from({ length: 20 }, () => put(9 * mebibyte)));
    let writes = 0;
    while (storedCount() < 20) {
      await queue.run(() => {});
      writes++;
    }
    await all;
    // At least every second transaction stores an upload.
    expect(writes).toBeLessThanOrEqual(41);
  },
);

test('18.1223: work that is flushed or closed is committed at once, in bounded transactions', async () => {
  const { queue, lengths, put, storedCount } = fakeStore('synchronous');
  const all = Promise.all(Array.from({ length: 20 }, () => put(9 * mebibyte)));
  queue.flush();
  await all;
  const more = Promise.all([put(9 * mebibyte), put(5), put(9 * mebibyte)]);
  queue.close(new Error('closed'));
  await more;
  expect([storedCount(), lengths.flat().length]).toEqual([23, 23]);
  for (const own of lengths) expect(own.length).toBeLessThanOrEqual(1);
  await expect(queue.run(() => {})).rejects.toThrow('closed');
});
